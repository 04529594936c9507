import * as E from 'fp-ts/lib/Either.js'
import { run, type Steps } from '../result/steps.ts'
import { hashOf, type StoredEvent } from '../events/codec.ts'
import { invalidInput } from '../events/errors.ts'
import { streamOf } from '../events/ids.ts'
import { checkedOptions, kinds, oneOf } from '../store/options.ts'
import { type ImportError, importDiverged, unknownFormat } from '../formats/errors.ts'
import type { SessionFile } from '../formats/parse-session.ts'
import { type Planning, planning } from '../formats/plan-events.ts'
import {
  type ConversationPlan,
  type Format,
  type ImportPlan,
  type ImportReport,
  type StoredConversation,
  type StoredImport,
} from '../formats/plan.ts'
import { formatNames } from '../formats/registry.ts'
import { lightEvents } from '../formats/said.ts'
import { type List, listOn, type Shelf } from '../formats/shelf.ts'
import type { LargeContentStore } from '../store/blobs/large-content.ts'
import { breath, pacer } from '../store/breath.ts'
import {
  chainEndAt,
  type ChainEnd,
  type ConversationEnd,
  lastPosition,
  readConversationEnd,
} from '../history/ends.ts'
import type { ReadError, WriteError } from '../store/errors.ts'
import { missingParent } from '../history/lineage.ts'
import { loadLog } from '../history/log.ts'
import { type EventStore, maxPage, type Part } from '../store/port.ts'
import { readAny } from './read-any.ts'
import { isFileUnreadable, sessionProblem, type SessionStream } from './read-session.ts'
import { reader } from '../history/reader.ts'
import { fileShelf, isTemporaryFileFailed } from './shelf.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { encodeChain, completeEnvelope } from '../history/encode.ts'
import { recordedTime } from '../history/time.ts'
import { prepareNotes, prepareStoredNotes } from './prepare-notes.ts'
import { type Addition, writeAll } from './write-whole.ts'

/** What an import did. */
export interface Imported {
  readonly format: Format
  readonly report: ImportReport
  /** In the order of the file. `added` of its `events` were not there before. */
  readonly conversations: readonly { readonly id: string; readonly added: number; readonly events: number }[]
}

export interface ImportOptions {
  /** Told after each batch how many of how many new events are written. */
  readonly progress?: (written: number, total: number) => void
}

type Result<A> = Promise<E.Either<ImportError | WriteError, A>>

/** New events of one conversation, encoded, and the end that they go behind. */
interface Prepared {
  readonly id: string
  readonly stream: string
  /** The end of all that is there, whether it counts yet or not. */
  readonly end: ChainEnd
  /** What the last event there is part of, if it does not count yet: an import was interrupted, or is under way. */
  readonly open?: Part | undefined
  readonly events: List<StoredEvent>
}

/** The others are looked at before: there are two ways to give a text. */
const sessionFields = () => ({
  text: kinds.anything,
  bytes: kinds.anything,
  file: kinds.text,
  id: kinds.text,
  format: oneOf(formatNames()),
  skipBadLines: kinds.flag,
})
/** How often an import is planned anew while others write to the same conversations. */
const maxTries = 20

/**
 * Imports a session file. Everything is read, planned and checked before the first event is written, so a bad file writes
 * nothing. Importing the same file again adds nothing; a file that has grown adds what is new.
 */
export const importSession = async (
  store: LargeContentStore,
  session: SessionFile | SessionStream,
  options?: ImportOptions,
): Result<Imported> => {
  const problem = sessionProblem(session)
  if (problem !== undefined) return E.left(invalidInput('session', problem))
  const asked = checkedOptions<Partial<SessionFile & SessionStream>>(session, sessionFields())
  if (E.isLeft(asked)) return asked
  const given = checkedOptions(options, { progress: kinds.call })
  if (E.isLeft(given)) return given
  const { progress } = given.right
  const room = fileShelf()
  try {
    const { read, shelf } = await readAny(session, room)
    return await importPlan(store, session.file, read, { shelf, progress })
  } catch (error) {
    if (isTemporaryFileFailed(error) || isFileUnreadable(error)) return E.left(error)
    throw error
  } finally {
    room.close()
  }
}

interface Importing {
  readonly shelf: Shelf
  readonly progress: ImportOptions['progress']
}
interface Try extends Importing {
  /** How many events this import has written to a conversation, by all its tries. */
  readonly added: Map<string, number>
}

const importPlan = async (
  store: LargeContentStore,
  file: string,
  parsed: E.Either<ImportError, ImportPlan | StoredImport>,
  importing: Importing,
): Result<Imported> => {
  if (E.isLeft(parsed)) return parsed
  const added = new Map<string, number>()
  for (let tries = 1; ; tries++) {
    const imported = await importOnce(store, file, parsed.right, { ...importing, added })
    // Somebody else wrote to one of the conversations: what they have now decides what is new.
    if (E.isRight(imported) || imported.left._tag !== 'Conflict' || tries === maxTries) return imported
  }
}

const importOnce = async (
  store: LargeContentStore,
  file: string,
  plan: ImportPlan | StoredImport,
  { shelf, progress, added }: Try,
): Result<Imported> => {
  const prepared: Prepared[] = []
  for (const conversation of plan.conversations) {
    const next =
      'steps' in conversation && plan.format !== 'palimpsest'
        ? await prepare(store, conversation, plan.format, shelf)
        : await prepareStored(store, conversation as StoredConversation, plan.conversations)
    if (E.isLeft(next)) return next
    prepared.push(next.right)
  }
  if (prepared.every(({ end, events }) => lastPosition(end) < 0 && events.length === 0))
    return E.left(
      unknownFormat(`${file} holds no message of a ${plan.format} session`, 'it is one of another format'),
    )
  const notes = await run(prepareAllNotes(store, plan, prepared))
  if (E.isLeft(notes)) return notes
  const additions = [...prepared, ...notes.right]
  const total = additions.reduce((sum, { events }) => sum + events.length, 0)
  let written = 0
  const writing = writeAll(store, additions, ({ id, stream }, events) => {
    if (stream === streamOf(id)) added.set(id, (added.get(id) ?? 0) + events)
    progress?.((written += events), total)
  })
  const wrote = await run(writing)
  if (E.isLeft(wrote)) return wrote
  const conversations = prepared.map(({ id, end, events }) => ({
    id,
    added: added.get(id) ?? 0,
    events: lastPosition(end) + 1 + events.length,
  }))
  return E.right({ format: plan.format, report: plan.report, conversations })
}

/** What is to be noted beside the conversations of a file. */
async function* prepareAllNotes(
  store: LargeContentStore,
  plan: ImportPlan | StoredImport,
  prepared: readonly Prepared[],
): Steps<ImportError | WriteError, readonly Addition[]> {
  const additions: Addition[] = []
  for (const [index, conversation] of plan.conversations.entries()) {
    const { id, notes } = conversation
    const own = prepared[index]
    if (!notes || !own) continue
    const at = lastPosition(own.end) + own.events.length
    if (at < 0 || notes.length === 0) continue
    additions.push(
      'steps' in conversation
        ? yield* prepareNotes(store, id, conversation.notes ?? [], { at, format: plan.format })
        : yield* prepareStoredNotes(store, id, conversation.notes ?? []),
    )
  }
  return additions
}

const prepare = async (
  store: LargeContentStore,
  plan: ConversationPlan,
  format: Format,
  shelf: Shelf,
): Result<Prepared> => {
  const { id } = plan
  const there = await readThere(store, id)
  if (E.isLeft(there)) return there
  const { end, open } = there.right
  const log = await loadLog(reader(store, end.lineage), lastPosition(end), lightEvents(shelf))
  if (E.isLeft(log)) return log
  const encodings = encodePlanned(id, end.hash, planning(plan, format, log.right), format)
  const places: number[] = []
  const checked = await checkAll(store, encodings, { id, end }, (event) => places.push(shelf.put(event)))
  const events = listOn(places, (place) => shelf.get(place) as StoredEvent)
  return E.map(() => ({ id, stream: streamOf(id), end, open, events }))(checked)
}

type Encoding = E.Either<ImportError, StoredEvent> | undefined

/** What is planned, chained to what is there. */
function* encodePlanned(
  conversation: string,
  prev: string | null,
  planned: Planning,
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
    const { event, commandId, time } = value
    const now = recordedTime(time, imported)
    const envelope = completeEnvelope({ commandId, now }, { kind: 'import', id: format })
    const encoded = encodeChain(conversation, hash, [event], envelope)
    if (E.isLeft(encoded)) {
      yield E.left({ ...encoded.left, message: `${commandId}: ${encoded.left.message}` })
      return
    }
    for (const stored of encoded.right.events) yield E.right(stored)
    hash = encoded.right.hash
  }
}

/** Checks every event before the first one is written. */
const checkAll = async (
  store: LargeContentStore,
  encodings: Iterable<Encoding>,
  { id, end }: { readonly id: string; readonly end: ChainEnd },
  keep: (event: StoredEvent) => void = () => undefined,
): Promise<E.Either<ImportError, void>> => {
  let index = 0
  const pace = pacer()
  for (const encoded of encodings) {
    if (encoded && E.isLeft(encoded)) return encoded
    const pause = encoded ? pace(encoded.right.data.length) : breath()
    if (pause) await pause
    if (!encoded) continue
    const checked = store.check(encoded.right)
    const where = `event ${lastPosition(end) + 1 + index++} of ${id}`
    if (E.isLeft(checked)) return E.left({ ...checked.left, message: `${where}: ${checked.left.message}` })
    keep(encoded.right)
  }
  return E.right(undefined)
}

/** Of events that are written as they are, those that the store does not have; the ones that it has must be the same. */
const prepareStored = async (
  store: LargeContentStore,
  { id, events }: StoredConversation,
  all: readonly { readonly id: string }[],
): Result<Prepared> => {
  const stream = streamOf(id)
  const first = events.at(0)
  const isFork = first?.type === 'Forked'
  const parent = isFork ? parentIn(first) : undefined
  if (parent !== undefined && !all.some((other) => other.id === parent)) {
    const found = await run(readStreamEnd(store, streamOf(parent)))
    if (E.isLeft(found)) return found
    if (!found.right.last) return E.left(missingParent(id, parent))
  }
  const found = await readThere(store, id, isFork)
  if (E.isLeft(found)) return found
  const { end, open } = found.right
  const there = end.revision + 1
  for (let from = 0, read = 0; from < Math.min(there, events.length); from += read) {
    const page = await store.read({ stream, from, direction: 'forwards', limit: maxPage })()
    if (E.isLeft(page)) return page
    read = page.right.length
    if (read === 0) break
    const different = page.right.find((stored, index) => {
      const event = events.at(from + index)
      return event && hashOf(event) !== hashOf(stored)
    })
    await breath()
    if (different)
      return E.left(importDiverged(id, `revision ${different.revision}`, 'the event of the file'))
  }
  const added = events.slice(there)
  const checked = await checkAll(store, asTheyAre(added), { id, end })
  return E.map(() => ({ id, stream, end, open, events: added }))(checked)
}

function* asTheyAre(events: Iterable<StoredEvent>): Generator<Encoding, void> {
  for (const event of events) yield E.right(event)
}

const parentIn = ({ data }: StoredEvent): string | undefined => {
  const forked = JSON.parse(data) as { readonly from?: { readonly conversation?: string } }
  return forked.from?.conversation
}

/**
 * All that is there of a conversation.
 *
 * @param isAlone the parents of a fork need not be there yet: they may come with the same file
 */
const readThere = async (
  store: EventStore,
  conversation: string,
  isAlone = false,
): Promise<E.Either<ReadError, Pick<Prepared, 'end' | 'open'>>> => {
  const own = [{ conversation, stream: streamOf(conversation), offset: 0, last: Infinity }]
  const ending = await readConversationEnd(store, conversation, isAlone ? own : undefined)
  return E.map(({ lineage, last, unfinished }: ConversationEnd) => ({
    end: chainEndAt(lineage, unfinished ?? last),
    open: unfinished?.part,
  }))(ending)
}
