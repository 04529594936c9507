import * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../events/codec.ts'
import { type ConversationEvent, isoTime } from '../events/events.ts'
import { newSalt, streamOf } from '../events/ids.ts'
import { type ImportError, importDiverged } from './formats/errors.ts'
import { type PlanGenerator, planEachEvent } from './formats/plan-events.ts'
import type { ConversationPlan, Format, ImportAction, StoredConversation } from './formats/plan.ts'
import { lightEvents, PreparedEvent } from './formats/light-events.ts'
import { type LazyList, listOn, type Shelf } from './formats/shelf.ts'
import { completeEnvelope, encodeChain } from '../conversation/writing/encode.ts'
import { chainEndAt, type ChainEnd, lastPosition, readConversationEnd } from '../conversation/reading/ends.ts'
import { parentNotFound, rootLineage } from '../conversation/reading/lineage.ts'
import { loadLog } from '../conversation/reading/log.ts'
import { reader } from '../conversation/reading/reader.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { breath, pacer } from '../store/breath.ts'
import type { ReadError, WriteError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore, WritePart, RecordedEvent } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import type { Addition } from './write-whole.ts'

/** New events of one conversation, encoded, and the end of the conversation to which they are appended. */
export interface PreparedAppend {
  readonly id: string
  readonly stream: string
  /** End of the stored conversation, including events of an unfinished import. */
  readonly end: ChainEnd
  /** The incomplete write that contains the last stored event, if an import was interrupted or is in progress. */
  readonly open?: WritePart | undefined
  readonly events: LazyList<StoredEvent>
  readonly repeat?: Addition['repeat']
  /** Number of messages of the file that differ from the stored ones; absent if none does. */
  readonly changed?: number
  /** Number of messages of the file whose stored content was erased; absent if none was. */
  readonly erased?: number
}

type Preparing = Fallible<ImportError | WriteError, PreparedAppend>

/** Prepares the events that the plan of a conversation adds to the stored ones, and puts them on the shelf. */
export async function* prepare(
  store: LayeredStore,
  plan: ConversationPlan,
  format: Format,
  shelf: Shelf,
  memories?: ImportMemories,
): Preparing {
  const { id } = plan
  const { end, open } = yield* readThere(store, id)
  const memory = end.lineage.length > 1 ? undefined : memories?.of(id)
  const log = yield* loadThere(store, end, shelf, memory)
  const planned = memory && plannedPart(plan)
  let changed = 0
  let erased = 0
  const encodings = encodePlanned(
    id,
    end.hash,
    planEachEvent(
      memory && planned ? planSince(plan, format, memory, planned.refs) : plan,
      format,
      log,
      (isErased) => (isErased ? erased++ : changed++),
      newSalt,
    ),
    format,
  )
  const places: number[] = []
  const eventAt = (place: number): StoredEvent => eventIn(shelf.getText(place))
  yield* checkAll(store, encodings, { id, end }, (event) => {
    const place = shelf.putText(textOf(event))
    const position = log.length + places.push(place) - 1
    planned?.events.push(new PreparedEvent(event, position, () => eventAt(place)))
  })
  if (memory) memory.planned = planned
  const events = listOn(places, eventAt)
  const differing = { ...(changed > 0 && { changed }), ...(erased > 0 && { erased }) }
  return { id, stream: streamOf(id), end, open, events, ...differing }
}

/** Memories of the conversations of a growing file, kept between two imports of it. */
export interface ImportMemories {
  /** Returns the memory of a conversation, which is empty at first. */
  readonly of: (id: string) => ImportMemory
}

interface ImportMemory {
  /** The stored conversation, from its first event. */
  readonly log: ConversationEvent[]
  /** Places and refs of the actions that are in the log. */
  places: readonly number[]
  refs: readonly string[]
  /** The additions of the last import, which may have failed. */
  planned?: PlannedPart | undefined
}

interface PlannedPart {
  readonly events: PreparedEvent[]
  /** Places and refs of all actions of the plan. */
  readonly places: readonly number[]
  readonly refs: string[]
}
const plannedPart = ({ actions }: ConversationPlan): PlannedPart => ({
  events: [],
  places: [...(actions.places ?? [])],
  refs: [],
})

export const createImportMemories = (): ImportMemories => {
  const memories = new Map<string, ImportMemory>()
  return {
    of: (id) => {
      const memory = memories.get(id) ?? { log: [], places: [], refs: [] }
      memories.set(id, memory)
      return memory
    },
  }
}

/** Returns the whole log of a conversation. Only what is not in memory is read. */
async function* loadThere(
  store: LayeredStore,
  end: ChainEnd,
  shelf: Shelf,
  memory?: ImportMemory,
): Fallible<ReadError, readonly ConversationEvent[]> {
  const load = (from: number) =>
    loadLog(reader(store, end.lineage), lastPosition(end), lightEvents(shelf), from)
  if (!memory) return yield* unwrap(load(0))
  const { log, planned } = memory
  if (planned && (yield* isWritten(store, end, planned.events))) {
    for (const event of planned.events) log.push(event as ConversationEvent)
    memory.places = planned.places
    memory.refs = planned.refs
  }
  memory.planned = undefined
  const more = yield* unwrap(load(log.length))
  if (!more.some(({ type }) => type === 'Erased')) {
    for (const event of more) log.push(event)
    return log
  }
  // The log in memory has what was erased.
  log.length = 0
  for (const event of yield* unwrap(load(0))) log.push(event)
  memory.refs = []
  return log
}

/** Reports whether these events are in the store: an event has the hash of the one before it. */
async function* isWritten(
  store: LayeredStore,
  { lineage, revision }: ChainEnd,
  events: readonly PreparedEvent[],
): Fallible<ReadError, boolean> {
  const [own] = lineage
  const last = events.at(-1)
  if (!last) return true
  if (!own || last.position > revision) return false
  const range = { stream: own.stream, from: last.position, direction: 'forwards', limit: 1 } as const
  const [stored] = yield* unwrap(store.read(range))
  return stored !== undefined && hashOf(stored) === hashOf(last.stored())
}

/**
 * Returns a plan in which the leading actions that were imported before have only their refs: they are in the log, so nothing else of
 * them is looked at.
 *
 * @param seen receives the refs of the actions that were looked at
 */
const planSince = (
  { actions, ...plan }: ConversationPlan,
  format: Format,
  { log, places, refs }: ImportMemory,
  seen: string[],
): ConversationPlan => {
  const own = `import:${format}:`
  const ids = new Set(log.map(({ metadata }) => metadata.commandId))
  // Where actions were imported again, under other ids, these depend on the content of earlier ones.
  const isAgain = [...ids].some((id) => id.startsWith(own) && id.includes('~'))
  const isKnown = (ref: string, index: number): boolean =>
    !isAgain && actions.places?.[index] === places[index] && ids.has(own + ref)
  const changed = refs.findIndex((ref, index) => !isKnown(ref, index))
  const known = changed < 0 ? refs : refs.slice(0, changed)
  const since = function* (): Generator<ImportAction> {
    let index = 0
    for (const ref of known) yield { ref: (seen[index++] = ref), type: 'rewind', to: null }
    for (const action of actions.slice(known.length)) {
      seen[index++] = action.ref
      yield action
    }
  }
  const { length } = actions
  const [at, slice] = [actions.at.bind(actions), actions.slice.bind(actions)]
  return { ...plan, actions: { length, at, slice, [Symbol.iterator]: since } }
}

/**
 * Encodes an event for a shelf, one field per line. Only the last field could contain a newline, because the others are an id, a type
 * and JSON.
 */
export const textOf = ({ id, type, metadata, data }: StoredEvent): string =>
  `${id}\n${type}\n${metadata}\n${data}`

export const eventIn = (text: string): StoredEvent => {
  const first = text.indexOf('\n')
  const second = text.indexOf('\n', first + 1)
  const third = text.indexOf('\n', second + 1)
  return {
    id: text.slice(0, first),
    type: text.slice(first + 1, second),
    metadata: text.slice(second + 1, third),
    data: text.slice(third + 1),
  }
}

/** The result of encoding an event. It is undefined where other work can run in between. */
type Encoding = E.Either<ImportError, StoredEvent> | undefined

/** Yields the planned events in encoded form, chained to the stored ones. */
function* encodePlanned(
  conversation: string,
  prev: string | null,
  planned: PlanGenerator,
  format: string,
): Generator<Encoding, void> {
  const imported = new Date()
  let hash = prev
  for (;;) {
    const { done, value } = planned.next()
    if (done === true) {
      if (E.isLeft(value)) yield value
      return
    }
    if (!value) {
      yield undefined
      continue
    }
    const { event, commandId, salt, time, workspace } = value
    const now = timeOr(time, imported)
    const envelope = completeEnvelope({ commandId, salt, now, workspace }, { kind: 'import', id: format })
    const encoded = encodeChain(conversation, hash, [event], envelope)
    if (E.isLeft(encoded)) {
      yield E.left({ ...encoded.left, message: `${commandId}: ${encoded.left.message}` })
      return
    }
    for (const stored of encoded.right.events) yield E.right(stored)
    hash = encoded.right.hash
  }
}

/** Checks all events before the first one is written, and passes each of them to `keep`. */
async function* checkAll(
  store: LayeredStore,
  encodings: Iterable<Encoding>,
  { id, end }: { readonly id: string; readonly end: ChainEnd },
  keep: (event: StoredEvent) => void = () => undefined,
): Fallible<ImportError, void> {
  let index = 0
  const pace = pacer()
  for (const encoded of encodings) {
    if (encoded && E.isLeft(encoded)) return yield encoded.left
    const pause = encoded ? pace(encoded.right.data.length) : breath()
    if (pause) await pause
    if (!encoded) continue
    const checked = store.check(encoded.right)
    const where = `event ${lastPosition(end) + 1 + index++} of ${id}`
    if (E.isLeft(checked)) return yield { ...checked.left, message: `${where}: ${checked.left.message}` }
    keep(encoded.right)
  }
}

/**
 * Prepares the events of a stored conversation that the store does not have yet, to be written unchanged. Events that the store already
 * has must be the same.
 */
export async function* prepareStored(
  store: LayeredStore,
  { id, events }: StoredConversation,
  all: readonly { readonly id: string }[],
): Preparing {
  const stream = streamOf(id)
  const first = events.at(0)
  const isFork = first?.type === 'Forked'
  const parent = isFork ? parentIn(first) : undefined
  if (parent !== undefined && !all.some((other) => other.id === parent)) {
    const { last } = yield* readStreamEnd(store, streamOf(parent))
    if (!last) return yield parentNotFound(id, parent)
  }
  const { end, open } = yield* readThere(store, id, isFork)
  const there = end.revision + 1
  const to = Math.min(there, events.length) - 1
  for await (const page of pagesOf(store, stream, { to })) {
    const different = firstDifferent(yield* unwrap(page), events)
    if (different) return yield importDiverged(id, `revision ${different.revision}`, 'the event of the file')
    await breath()
  }
  const added = events.slice(there)
  yield* checkAll(store, asTheyAre(added), { id, end })
  return { id, stream, end, open, events: added, repeat: 'each' }
}

/** Returns the first stored event that differs from the file's event at the same revision. */
export const firstDifferent = (
  stored: readonly RecordedEvent[],
  events: LazyList<StoredEvent>,
): RecordedEvent | undefined =>
  stored.find((one) => {
    const event = events.at(one.revision)
    return event && hashOf(event) !== hashOf(one)
  })

function* asTheyAre(events: Iterable<StoredEvent>): Generator<Encoding, void> {
  for (const event of events) yield E.right(event)
}

const parentIn = ({ data }: StoredEvent): string | undefined => {
  const forked = JSON.parse(data) as { readonly from?: { readonly conversation?: string } }
  return forked.from?.conversation
}

/**
 * Returns the end of a stored conversation, including events of an unfinished import.
 *
 * @param isAlone true if the parents of a fork need not be stored yet, because they may be in the same file
 */
async function* readThere(
  store: EventStore,
  conversation: string,
  isAlone = false,
): Fallible<ReadError, Pick<PreparedAppend, 'end' | 'open'>> {
  const known = isAlone ? rootLineage(conversation) : undefined
  const { lineage, last, unfinished } = yield* unwrap(readConversationEnd(store, conversation, known))
  return { end: chainEndAt(lineage, unfinished ?? last), open: unfinished?.part }
}

/** Returns the time recorded in a file, or the fallback if that is not a valid time. */
export const timeOr = (time: string | undefined, otherwise: Date): Date => {
  const recorded = time !== undefined && isoTime.test(time) ? new Date(time) : otherwise
  // A text of this form may still be invalid: the 99th month.
  return Number.isNaN(recorded.getTime()) ? otherwise : recorded
}
