import type { Steps } from '../result/steps.ts'
import type { ConversationEvent, Span } from '../events/events.ts'
import { type Draft, evolve, type Slot } from '../projections/outline.ts'
import type { StoreError } from '../store/errors.ts'

/** What an event changed of the outline that it came after. */
type Step =
  | { readonly type: 'nothing' }
  | { readonly type: 'hide'; readonly slots: readonly Slot[] }
  | {
      readonly type: 'restore'
      readonly marker: number
      readonly slots: readonly Slot[]
      readonly spans: { readonly before: Span[]; readonly after: Span[] }
    }
  | { readonly type: 'configure'; readonly before: Configured; readonly after: Configured }
type Configured = Partial<Pick<Draft, (typeof configuredKeys)[number]>>
const configuredKeys = ['configured', 'configuration', 'promptSince', 'toolsFrom', 'formerTools'] as const

/** An event taken into the outline that it comes after. */
interface Taken {
  /** Changes with the next event that is taken. */
  readonly draft: Draft
  /** What a marker hid or a restore brought back; undefined if there was nothing. */
  readonly slots: readonly Slot[] | undefined
}

/** The outlines of a conversation at all of its own events, wherever rewinds lead. */
export interface Branches {
  /** A message, a rewind or the beginning of a fork comes next. Constant time. */
  readonly pass: (event: ConversationEvent) => void
  /** Any other event comes next. Takes as many steps as it is away from the last event that was taken, along the branches. */
  readonly take: (event: ConversationEvent) => Steps<StoreError, Taken>
}

interface Before {
  /** Position of the first event that comes. */
  readonly offset: number
  /** The outline at a position before that one, nobody else's. */
  readonly outlineAt: (position: number) => Steps<StoreError, Draft>
  /** What a marker there replaced. */
  readonly replacedBy: (marker: number) => Steps<StoreError, readonly Slot[] | undefined>
}

/**
 * One outline that is moved along the branches, forwards and back by what each event changed. So nothing is read again, however often a
 * conversation is rewound; what was before its first own event is asked for where a branch begins there.
 */
export const branches = ({ offset, outlineAt, replacedBy }: Before): Branches => {
  const steps = new Map<number, Step>()
  const rewinds = new Map<number, number>()
  let draft: Draft = { slots: [], restored: [] }
  /** The position that `draft` is the outline of. */
  let head: number | undefined

  const resolved = (position: number): number => rewinds.get(position) ?? position
  const parentOf = (position: number): number => resolved(position - 1)

  async function* moveTo(target: number): Steps<StoreError, void> {
    const ahead: number[] = []
    let to = target
    // From the two tips down to where the paths meet, or to what was before.
    while (to !== head && Math.max(to, head ?? to) >= offset)
      if (head === undefined || to > head) {
        ahead.push(to)
        to = parentOf(to)
      } else {
        undo(draft, head, steps.get(head))
        head = parentOf(head)
      }
    if (to !== head) draft = yield* outlineAt(to)
    for (const position of ahead.toReversed()) redo(draft, position, steps.get(position))
    head = target
  }

  async function* broughtBack(event: ConversationEvent): Steps<StoreError, readonly Slot[] | undefined> {
    if (event.type !== 'Restored') return undefined
    const { marker } = event.data
    if (marker < offset) return yield* replacedBy(marker)
    const step = steps.get(marker)
    return step?.type === 'hide' ? step.slots : undefined
  }

  return {
    pass: ({ type, position, data }) => {
      if (type === 'Rewound') rewinds.set(position, data.to < offset ? data.to : resolved(data.to))
      else if (type === 'Forked') steps.set(position, { type: 'nothing' })
    },
    take: async function* (event): Steps<StoreError, Taken> {
      yield* moveTo(parentOf(event.position))
      const back = yield* broughtBack(event)
      const before = { ...draft }
      const slots = evolve(draft, event, () => back)
      steps.set(event.position, stepOf(event, slots, before, draft))
      head = event.position
      return { draft, slots }
    },
  }
}

const stepOf = (
  event: ConversationEvent,
  slots: readonly Slot[] | undefined,
  before: Draft,
  after: Draft,
): Step => {
  if (event.type === 'Configured')
    return { type: 'configure', before: configuredOf(before), after: configuredOf(after) }
  if (!slots) return { type: 'nothing' }
  return event.type === 'Restored'
    ? {
        type: 'restore',
        marker: event.data.marker,
        slots,
        spans: { before: before.restored, after: after.restored },
      }
    : { type: 'hide', slots }
}

const configuredOf = (draft: Draft): Configured =>
  Object.fromEntries(configuredKeys.flatMap((key) => (key in draft ? [[key, draft[key]]] : [])))

const redo = (draft: Draft, position: number, step: Step | undefined): void => {
  switch (step?.type) {
    case undefined:
      draft.slots.push({ position, marker: false })
      break
    case 'hide':
      replace(draft, step.slots, [{ position, marker: true }])
      break
    case 'restore':
      replace(draft, [{ position: step.marker, marker: true }], step.slots)
      draft.restored = step.spans.after
      break
    case 'configure':
      configure(draft, step.after)
      break
    case 'nothing':
      break
  }
}

const undo = (draft: Draft, position: number, step: Step | undefined): void => {
  switch (step?.type) {
    case undefined:
      draft.slots.pop()
      break
    case 'hide':
      replace(draft, [{ position, marker: true }], step.slots)
      break
    case 'restore':
      replace(draft, step.slots, [{ position: step.marker, marker: true }])
      draft.restored = step.spans.before
      break
    case 'configure':
      configure(draft, step.before)
      break
    case 'nothing':
      break
  }
}

const replace = (draft: Draft, those: readonly Slot[], by: readonly Slot[]): void => {
  const from = draft.slots.findLastIndex(({ position }) => position === those[0]?.position)
  draft.slots = draft.slots.slice(0, from).concat(by, draft.slots.slice(from + those.length))
}

const configure = (draft: Draft, configured: Configured): void => {
  for (const key of configuredKeys) delete draft[key]
  Object.assign(draft, configured)
}
