import type { Fallible } from '../result/fallible.ts'
import { hasNoEffect } from '../events/event-traits.ts'
import type { ConversationEvent, Span } from '../events/events.ts'
import { type LayoutDraft, evolve, type Slot } from '../projections/layout.ts'
import type { StoreError } from '../store/errors.ts'

/** The change that an event made to the layout, recorded so that it can be undone and redone. */
type LayoutChange =
  | { readonly type: 'nothing' }
  | { readonly type: 'hide'; readonly slots: Packed }
  | {
      readonly type: 'restore'
      readonly marker: number
      readonly slots: Packed
      /** The last restored spans before the event; the event merged them into `span`. */
      readonly joined: readonly Span[]
      readonly span: Span
    }
  | { readonly type: 'configure'; readonly before: Configured; readonly after: Configured }
/**
 * Positions of slots; the position of a marker is stored as its complement (`~`). This form is compact because all slots hidden by
 * markers are kept in memory, and objects would take four times as much.
 */
type Packed = readonly number[]
type Configured = Partial<Pick<LayoutDraft, (typeof configuredKeys)[number]>>
const configuredKeys = [
  'configured',
  'configuration',
  'configuredSalt',
  'promptSince',
  'toolsFrom',
  'formerTools',
  'formerSalt',
] as const

/** The layout after an event has been applied. */
interface Taken {
  /** The layout itself, not a copy: the next call of `take` changes it. */
  readonly draft: LayoutDraft
  /** The slots that a marker hid or a restore brought back; undefined for any other event. */
  readonly slots: readonly Slot[] | undefined
}

/** Computes a conversation's layout after each event of its own stream, on any branch. */
export interface BranchLayouts {
  /** Processes the next event if it is a message, a rewind or an event without effect. Takes constant time. */
  readonly pass: (event: ConversationEvent) => void
  /**
   * Processes the next event if it is of any other type, and returns the layout after it. Takes time proportional to the distance
   * along the branches from the last processed event.
   */
  readonly take: (event: ConversationEvent) => Fallible<StoreError, Taken>
}

interface Before {
  /** Position of the first event to process. */
  readonly offset: number
  /** Loads the layout at a position before `offset`. The result must not be shared, because it is changed in place. */
  readonly layoutAt: (position: number) => Fallible<StoreError, LayoutDraft>
  /** Loads the slots that a marker before `offset` replaced. */
  readonly replacedBy: (marker: number) => Fallible<StoreError, readonly Slot[] | undefined>
}

/**
 * Returns an object that keeps a single layout and moves it forwards and backwards along the branches by applying and undoing the
 * change of each event. Nothing is read twice, however often the conversation is rewound, unless a branch begins before the first event
 * of the conversation's own stream.
 */
export const branches = ({ offset, layoutAt, replacedBy }: Before): BranchLayouts => {
  const changes = new Map<number, LayoutChange>()
  const rewinds = new Map<number, number>()
  let draft: LayoutDraft = { slots: [], restored: [] }
  /** Position of the event that `draft` reflects; undefined before the first use. */
  let head: number | undefined

  const resolved = (position: number): number => rewinds.get(position) ?? position
  const parentOf = (position: number): number => resolved(position - 1)

  async function* moveTo(target: number): Fallible<StoreError, void> {
    const ahead: number[] = []
    let to = target
    // Move down from both positions to where the paths meet, or to before `offset`.
    while (to !== head && Math.max(to, head ?? to) >= offset)
      if (head === undefined || to > head) {
        ahead.push(to)
        to = parentOf(to)
      } else {
        undo(draft, head, changes.get(head))
        head = parentOf(head)
      }
    if (to !== head) draft = yield* layoutAt(to)
    for (const position of ahead.toReversed()) redo(draft, position, changes.get(position))
    head = target
  }

  async function* broughtBack(event: ConversationEvent): Fallible<StoreError, readonly Slot[] | undefined> {
    if (event.type !== 'Restored') return undefined
    const { marker } = event.data
    if (marker < offset) return yield* replacedBy(marker)
    const change = changes.get(marker)
    return change?.type === 'hide' ? unpacked(change.slots) : undefined
  }

  return {
    pass: (event) => {
      const { type, position, data } = event
      if (type === 'Rewound') rewinds.set(position, data.to < offset ? data.to : resolved(data.to))
      else if (hasNoEffect(event)) changes.set(position, { type: 'nothing' })
    },
    take: async function* (event): Fallible<StoreError, Taken> {
      yield* moveTo(parentOf(event.position))
      const back = yield* broughtBack(event)
      const before = { ...draft }
      const slots = evolve(draft, event, () => back)
      changes.set(event.position, changeOf(event, slots, before, draft))
      head = event.position
      return { draft, slots }
    },
  }
}

const changeOf = (
  event: ConversationEvent,
  slots: readonly Slot[] | undefined,
  before: LayoutDraft,
  after: LayoutDraft,
): LayoutChange => {
  if (event.type === 'Configured')
    return { type: 'configure', before: configuredOf(before), after: configuredOf(after) }
  if (!slots) return { type: 'nothing' }
  const span = after.restored.at(-1)
  if (event.type !== 'Restored' || !span) return { type: 'hide', slots: packed(slots) }
  const joined = before.restored.slice(after.restored.length - 1)
  return { type: 'restore', marker: event.data.marker, slots: packed(slots), joined, span }
}

const packed = (slots: readonly Slot[]): Packed =>
  slots.map(({ position, marker }) => (marker ? ~position : position))

const unpacked = (slots: Packed): readonly Slot[] =>
  slots.map((slot) => (slot < 0 ? { position: ~slot, marker: true } : { position: slot, marker: false }))

const configuredOf = (draft: LayoutDraft): Configured =>
  Object.fromEntries(configuredKeys.flatMap((key) => (key in draft ? [[key, draft[key]]] : [])))

const redo = (draft: LayoutDraft, position: number, change: LayoutChange | undefined): void => {
  switch (change?.type) {
    case undefined:
      draft.slots.push({ position, marker: false })
      break
    case 'hide':
      replace(draft, unpacked(change.slots), [{ position, marker: true }])
      break
    case 'restore':
      replace(draft, [{ position: change.marker, marker: true }], unpacked(change.slots))
      draft.restored = draft.restored
        .slice(0, draft.restored.length - change.joined.length)
        .concat(change.span)
      break
    case 'configure':
      configure(draft, change.after)
      break
    case 'nothing':
      break
  }
}

const undo = (draft: LayoutDraft, position: number, change: LayoutChange | undefined): void => {
  switch (change?.type) {
    case undefined:
      draft.slots.pop()
      break
    case 'hide':
      replace(draft, [{ position, marker: true }], unpacked(change.slots))
      break
    case 'restore':
      replace(draft, unpacked(change.slots), [{ position: change.marker, marker: true }])
      draft.restored = draft.restored.slice(0, -1).concat(change.joined)
      break
    case 'configure':
      configure(draft, change.before)
      break
    case 'nothing':
      break
  }
}

const replace = (draft: LayoutDraft, those: readonly Slot[], by: readonly Slot[]): void => {
  const from = draft.slots.findLastIndex(({ position }) => position === those[0]?.position)
  draft.slots = draft.slots.slice(0, from).concat(by, draft.slots.slice(from + those.length))
}

const configure = (draft: LayoutDraft, configured: Configured): void => {
  for (const key of configuredKeys) delete draft[key]
  Object.assign(draft, configured)
}
