import * as E from 'fp-ts/lib/Either.js'
import { withoutSecretParameters } from '../commands/configure.ts'
import { append } from '../commands/append.ts'
import { factsOf, withView } from '../commands/hide.ts'
import { type ConversationEvent, type Event, START } from '../events/events.ts'
import { lastOf, type Log, parent, resolve } from '../projections/path.ts'
import { atOnce, sliceLength } from '../projections/slices.ts'
import { hasChanged, type ImportError, importDiverged } from './errors.ts'
import type { ConversationPlan, Format, Step, StepType } from './plan.ts'
import { wholeMessage } from './shelf.ts'
import { type Stage, stage } from './stage.ts'

/** An event to append, under a command of its own. */
export interface PlannedEvent {
  readonly event: Event
  readonly commandId: string
  /** ISO 8601, UTC: when the file says it happened. */
  readonly time?: string
}

type StepOf<T extends StepType> = Extract<Step, { readonly type: T }>
type Planned = E.Either<ImportError, Event>

/**
 * The events that a plan's steps add to a conversation, in order.
 *
 * A step that the log holds already (by its command id, `import:<format>:<ref>`) adds nothing: the same file a second time adds
 * no event, a file that has grown adds what is new. Where the last message of an earlier import was
 * recorded in part only, the conversation is rewound to before it, and continues with the whole one. Where the file now has
 * something before what it had (an entry written late, or one that an earlier version of the importer left out), the conversation
 * is rewound to there, and what the file has after it is taken again.
 * What happened is recorded as it happened: a slice that parts a call from its result is no reason to refuse.
 *
 * @param log the whole lineage of the conversation, from its first event on; empty if the store has none of that id
 * @returns events for the positions from `log.length` on
 * Errors: `ImportDiverged` if something else was said or rewound behind what the log holds of the file, or a marker's slice is no
 * longer shown.
 */
export const planEvents = (
  plan: ConversationPlan,
  format: Exclude<Format, 'palimpsest'>,
  log: Log,
): E.Either<ImportError, readonly PlannedEvent[]> => atOnce(planning(plan, format, log))

/** `planEvents`, in slices. */
export function* planning(
  { id, steps, withdrawn = [] }: ConversationPlan,
  format: Exclude<Format, 'palimpsest'>,
  log: Log,
): Generator<void, E.Either<ImportError, readonly PlannedEvent[]>> {
  const known = new Map<string, number>()
  for (const { metadata, position } of log) {
    if ((position + 1) % sliceLength === 0) yield
    known.set(metadata.commandId, position)
  }
  const positions = new Map<string, number>()
  const current = stage(log)
  const planned: PlannedEvent[] = []
  /** Position of the last step that the log holds. */
  let lastKnown: number = START
  // Of the steps that were taken again.
  let suffix = ''
  const idOf = (ref: string): string => `import:${format}:${ref}${suffix}`
  const add = (event: Event, commandId: string, time: string | undefined): void => {
    current.add(event, commandId)
    planned.push({ event, commandId, ...(time !== undefined && { time }) })
  }

  for (const [index, step] of steps.entries()) {
    if ((index + 1) % sliceLength === 0) yield
    let position = known.get(idOf(step.ref))
    if (position !== undefined && isPartOf(current.events[position], step)) {
      suffix = `~${step.ref}.${step.message.content.length}`
      const before = { type: 'Rewound', data: { to: parent(current.events, position) } } as const
      position = known.get(idOf(step.ref))
      if (position === undefined) add(before, idOf(`${step.ref}:again`), step.time)
    }
    if (position === undefined && planned.length === 0) {
      if (!follows(log, lastKnown)) {
        const refs = new Set([...steps.map(({ ref }) => ref), ...withdrawn])
        if (!log.slice(lastKnown + 1).every((event) => isOf(event, format, refs)))
          return E.left(hasChanged(id, step.ref))
        suffix += `~${step.ref}`
        position = known.get(idOf(step.ref))
        if (position === undefined)
          add({ type: 'Rewound', data: { to: lastKnown } }, idOf(`${step.ref}:again`), step.time)
      }
    }
    if (position === undefined) {
      const event = eventOf(step, current, positions, id)
      if (E.isLeft(event)) return event
      add(event.right, idOf(step.ref), step.time)
    }
    lastKnown = position ?? lastKnown
    positions.set(step.ref, position ?? lastOf(current.events))
  }
  return E.right(planned)
}

/**
 * Whether what a file continues with follows on what the conversation holds of it: nothing was said or rewound since. Markers and
 * configurations in between change nothing of what was said.
 */
const follows = (log: Log, lastKnown: number): boolean => {
  const from = resolve(log, lastKnown)
  for (let at = resolve(log, lastOf(log)); at !== from; at = parent(log, at)) {
    const event = log[at]
    if (!event || event.type === 'MessageAppended' || event.type === 'Forked') return false
  }
  return true
}

/** Whether an import wrote the event, of an entry that the file still has. */
const isOf = ({ metadata }: ConversationEvent, format: string, refs: ReadonlySet<string>): boolean => {
  const own = `import:${format}:`
  const ref = metadata.commandId.slice(own.length).replace(/(:again)?~.*$/s, '')
  return metadata.commandId.startsWith(own) && refs.has(ref)
}

/** Whether the event is this message, recorded when the file did not have all of its blocks yet. */
const isPartOf = (event: Event | undefined, step: Step): step is StepOf<'message'> =>
  event?.type === 'MessageAppended' &&
  step.type === 'message' &&
  typeof step.message.content !== 'string' &&
  event.data.content.length < step.message.content.length

const eventOf = (step: Step, current: Stage, positions: ReadonlyMap<string, number>, id: string): Planned => {
  switch (step.type) {
    case 'message': {
      const [event] = append({ messages: [step.message] }, START)
      return event ? E.right(event) : E.left(importDiverged(id, step.ref, 'the message'))
    }
    case 'configure':
      return E.right({ type: 'Configured', data: withoutSecretParameters(step.configuration) })
    case 'rewind': {
      const to = step.to === null ? START : positions.get(step.to)
      return to === undefined
        ? E.left(importDiverged(id, step.ref, 'what the branch continues from'))
        : E.right({ type: 'Rewound', data: { to } })
    }
    case 'condense':
    case 'truncate':
      return markerOf(step, current, positions, id)
  }
}

const markerOf = (
  step: StepOf<'condense' | 'truncate'>,
  current: Stage,
  positions: ReadonlyMap<string, number>,
  id: string,
): Planned => {
  const hidden = current.slice(positions.get(step.covers.first), positions.get(step.covers.last))
  if (!hidden) return E.left(importDiverged(id, step.ref, `what the file's ${step.type} hides`))
  if (step.type === 'truncate') {
    const { reason } = step
    const data = { ...factsOf(hidden, []), ...(reason !== undefined && { reason }) }
    return E.right(withView({ type: 'Truncated', data }, current.state()))
  }
  const { summary, method, origin } = step
  const data = { ...factsOf(hidden, summary.map(wholeMessage)), summary, method, ...(origin && { origin }) }
  return E.right(withView({ type: 'Condensed', data }, current.state()))
}
