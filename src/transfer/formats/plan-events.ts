import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { withoutSecretParameters } from '../../commands/configure.ts'
import { isMarker } from '../../events/event-traits.ts'
import {
  type ConversationEvent,
  type Event,
  messageOf,
  type Receipt,
  START,
  type Workspace,
} from '../../events/events.ts'
import { lastOf, type Log, parent, resolve } from '../../projections/path.ts'
import { sliceLength } from '../../projections/slices.ts'
import { hasChanged, type ImportError, importDiverged } from './errors.ts'
import type { ConversationPlan, Format, ImportAction } from './plan.ts'
import { createReceiptMaker } from './plan-receipts.ts'
import { stage } from './stage.ts'
import { markerOf, type ActionContext, type EventPlanResult, type ActionOf } from './plan-markers.ts'
import type { SliceGenerator } from '../../projections/slices.ts'
import { blocksOf } from './actions.ts'

/** An event to append, with its own command id. */
export interface PlannedEvent {
  readonly event: Event
  readonly commandId: string
  /** Salt of the event, if salts are made while planning. */
  readonly salt?: string
  /** Time of the event according to the file, in ISO 8601, UTC. */
  readonly time?: string
  readonly workspace?: Workspace
}

/**
 * Plans the events that the actions of a plan add to a conversation, in order.
 *
 * An action that is already in the log (found by its command id, `import:<format>:<ref>`) adds nothing: importing the same file again
 * adds no event, and a file that has grown adds only its new actions. If an earlier import recorded only part of the last message, the
 * conversation is rewound to before that message and continues with the whole message. If the file now has an entry before those
 * already imported (written late, or left out by an earlier version of the importer), the conversation is rewound to that point, and
 * the entries after it are imported again. An import records the past, so a slice that separates a call from its result is not refused.
 *
 * Errors: `ImportDiverged` if the log has other messages, rewinds, markers or restores after the part that it shares with the file, or
 * if a marker's slice is no longer shown.
 *
 * @param log the whole lineage of the conversation, from its first event; empty if it is not in the store
 * @returns events for the positions from `log.length`
 */
export const planEvents = (
  plan: ConversationPlan,
  format: Format,
  log: Log,
): E.Either<ImportError, readonly PlannedEvent[]> => {
  const planned: PlannedEvent[] = []
  const slices = planEachEvent(plan, format, log)
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return E.map(() => planned)(value)
    if (value) planned.push(value)
  }
}

/** A generator of planned events, one at a time. It also yields undefined to let other work run. */
export type PlanGenerator = Generator<PlannedEvent | void, E.Either<ImportError, void>>

/**
 * Like `planEvents`, but yields one event at a time, so that the events need not all be in memory.
 *
 * @param onChanged called for each message of the file whose content differs from the recorded message, or whose recorded content was
 *   erased
 * @param newSalt makes the salt of the next event, which the digests in receipts depend on
 */
export function* planEachEvent(
  { id, actions, withdrawn = [] }: ConversationPlan,
  format: Format,
  log: Log,
  onChanged: (isErased: boolean) => void = () => undefined,
  newSalt?: () => string,
): PlanGenerator {
  const known = new Map<string, number>()
  for (const { metadata, position } of log) {
    if ((position + 1) % sliceLength === 0) yield
    known.set(metadata.commandId, position)
  }
  const positions = new Map<string, number>()
  const current = stage(log)
  /** Index of the action from which each planned event was made, and the salt of the event. */
  const actionOf: number[] = []
  const salts: string[] = []
  /** Position of the last processed action that is already in the log. */
  let lastKnown: number = START
  // Suffix of the command ids of actions that are imported again.
  let suffix = ''
  const idOf = (ref: string): string => `import:${format}:${ref}${suffix}`
  const add = (
    index: number,
    event: Event,
    commandId: string,
    { time, workspace }: { readonly time?: string | undefined; readonly workspace?: Workspace },
  ): PlannedEvent => {
    const salt = newSalt?.()
    current.add(event)
    actionOf.push(index)
    if (salt !== undefined) salts.push(salt)
    return {
      event,
      commandId,
      ...(salt !== undefined && { salt }),
      ...(time !== undefined && { time }),
      ...(workspace && { workspace }),
    }
  }
  const eventAt = (position: number): ConversationEvent | undefined => {
    const event = current.events[position]
    const action =
      event?.type === 'MessageAppended' ? actions.at(actionOf[position - log.length] ?? -1) : undefined
    return event && position >= log.length && action?.type === 'message'
      ? { ...event, ...eventOfMessage(action) }
      : event
  }

  /** Indices of the actions, by ref. */
  const indices = new Map<string, number>()
  const receipts = createReceiptMaker({
    current,
    positions,
    eventAt,
    saltAt: (position) => log[position]?.metadata.salt ?? salts[position - log.length],
    isErased: (position) => log[position]?.metadata.erased !== undefined,
    requestOf: (ref) => {
      const action = actions.at(indices.get(ref) ?? actions.length)
      return action?.type === 'message' ? action.request : undefined
    },
  })
  /** The configuration of the next reply, if the log does not have it. */
  let unsaid: { readonly action: ActionOf<'configure'>; readonly index: number } | undefined

  function* isOfFile(from: number): SliceGenerator<boolean> {
    return yield* areOf(log, from, { format, refs: yield* refsOf(actions, withdrawn) })
  }

  let index = -1
  for (const action of actions) {
    index++
    indices.set(action.ref, index)
    let position = known.get(idOf(action.ref))
    if (action.type === 'configure' && action.isOptional) {
      // Everything after it need not be imported again: an earlier version left these configurations out.
      unsaid = position === undefined ? { action, index } : undefined
      if (position !== undefined) lastKnown = position
      yield
      continue
    }
    if (position !== undefined && isPartOf(current.events[position], action)) {
      suffix = `~${action.ref}.${action.message.content.length}`
      const part = position
      const before = { type: 'Rewound', data: { to: parent(current.events, part) } } as const
      position = known.get(idOf(action.ref))
      if (position === undefined) {
        if (actionOf.length === 0 && !(yield* follows(log, part, format)) && !(yield* isOfFile(part + 1)))
          return E.left(hasChanged(id, action.ref, part))
        yield add(index, before, idOf(`${action.ref}:again`), { time: action.time })
      }
    }
    if (position === undefined && actionOf.length === 0 && !(yield* follows(log, lastKnown, format))) {
      if (!(yield* isOfFile(lastKnown + 1))) return E.left(hasChanged(id, action.ref, lastKnown))
      suffix += `~${action.ref}`
      position = known.get(idOf(action.ref))
      const before = { type: 'Rewound', data: { to: lastKnown } } as const
      if (position === undefined) yield add(index, before, idOf(`${action.ref}:again`), { time: action.time })
    }
    if (position === undefined) {
      if (unsaid && action.type === 'message') {
        const { action: before, index: at } = unsaid
        unsaid = undefined
        yield add(at, configured(before), idOf(before.ref), { time: before.time })
      }
      const event = yield* eventOf(action, { current, positions, eventAt, id })
      if (E.isLeft(event)) return event
      const receipt = action.type === 'message' ? yield* receipts.make(action) : undefined
      yield add(index, receipt ? withReceipt(event.right, receipt) : event.right, idOf(action.ref), action)
    } else {
      if (isChanged(current.events[position], action)) onChanged(log[position]?.metadata.erased !== undefined)
      yield
    }
    lastKnown = position ?? lastKnown
    positions.set(action.ref, position ?? lastOf(current.events))
  }
  return E.right(undefined)
}

/**
 * Reports whether the rest of a file can continue the part already in the conversation, that is, whether nobody has added a message or a
 * rewind since, or changed what is shown. Configurations added since do not matter, nor do markers of an import, nor those that were
 * restored.
 */
function* follows(log: Log, lastKnown: number, format: Format): SliceGenerator<boolean> {
  const from = resolve(log, lastKnown)
  const restored = new Set<number>()
  let looked = 0
  for (let at = resolve(log, lastOf(log)); at !== from; at = parent(log, at)) {
    const event = log[at]
    if (!event || event.type === 'MessageAppended' || event.type === 'Forked') return false
    if (event.type === 'Restored') restored.add(event.data.marker)
    // The file's next messages would seem to have been written without what a marker of somebody else hides.
    const isOfImport = event.metadata.commandId.startsWith(`import:${format}:`)
    if (isMarker(event) && !restored.delete(at) && !isOfImport) return false
    if (++looked % sliceLength === 0) yield
  }
  return restored.size === 0
}

function* refsOf(
  actions: Iterable<ImportAction>,
  withdrawn: readonly string[],
): SliceGenerator<ReadonlySet<string>> {
  const refs = new Set(withdrawn)
  for (const { ref } of actions) {
    refs.add(ref)
    yield
  }
  return refs
}

/** Reports whether all events from a position on were written by an import, from entries that the file still contains. */
function* areOf(
  log: Log,
  from: number,
  { format, refs }: { readonly format: string; readonly refs: ReadonlySet<string> },
): SliceGenerator<boolean> {
  const own = `import:${format}:`
  for (let at = from; at < log.length; at++) {
    const { commandId = '' } = log[at]?.metadata ?? {}
    if (!commandId.startsWith(own)) return false
    const ref = commandId.slice(own.length).replace(/(:again)?~.*$/s, '')
    // An earlier version of the importer may have read a rewind where this one does not.
    if (!refs.has(ref) && !refs.has(ref.replace(/:rewind$/, ''))) return false
    if (at % sliceLength === 0) yield
  }
  return true
}

/** Reports whether an event is the message of an action, recorded before the file contained all of its blocks. */
const isPartOf = (event: Event | undefined, action: ImportAction): action is ActionOf<'message'> =>
  event?.type === 'MessageAppended' &&
  action.type === 'message' &&
  typeof action.message.content !== 'string' &&
  messageOf(event).content.length < action.message.content.length

/** Reports whether the file now has another text for a message than the one that was recorded. */
const isChanged = (event: Event | undefined, action: ImportAction): boolean =>
  event?.type === 'MessageAppended' &&
  action.type === 'message' &&
  !isDeepStrictEqual(messageOf(event).content, blocksOf(action.message))

function* eventOf(action: ImportAction, place: ActionContext): SliceGenerator<EventPlanResult> {
  switch (action.type) {
    case 'message':
      return E.right(eventOfMessage(action))
    case 'configure':
      return E.right(configured(action))
    case 'rewind': {
      const to = action.to === null ? START : place.positions.get(action.to)
      return to === undefined
        ? E.left(importDiverged(place.id, action.ref, 'the action from which the branch continues'))
        : E.right({ type: 'Rewound', data: { to } })
    }
    case 'condense':
    case 'truncate':
      return yield* markerOf(action, place)
  }
}

const configured = ({ configuration }: ActionOf<'configure'>): Event => ({
  type: 'Configured',
  data: withoutSecretParameters(configuration),
})

const withReceipt = (event: Event, context: Receipt): Event =>
  event.type === 'MessageAppended'
    ? { ...event, data: { ...event.data, origin: { ...event.data.origin, context } } }
    : event

const eventOfMessage = ({ message }: ActionOf<'message'>): Event<'MessageAppended'> => ({
  type: 'MessageAppended',
  data: { ...message, content: blocksOf(message) },
})
