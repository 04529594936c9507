import { createHash, type Hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../events/codec.ts'
import { newCommandId, notesStreamOf, streamOf } from '../events/ids.ts'
import { readingEdition } from './formats/edition.ts'
import type { SessionOptions } from './formats/parse-session.ts'
import { lastPosition, readConversationEnd } from '../conversation/reading/ends.ts'
import { unwrap, run, type Fallible } from '../result/fallible.ts'
import type { ReadError } from '../store/errors.ts'
import type { EventStore, RecordedEvent } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import type { ImportResult } from './import-result.ts'
import { mayBeOwn } from './read-any.ts'
import { type OpenSession, readFileBytes } from './read-session.ts'

// The record of an import in the store: a digest of the file's bytes, and the last events of its conversations. A stream is only ever
// appended to, and each event contains the hash of the event before it, so as long as the same event is at the recorded revision, all
// content of the file is in the store (ADR 43).

/** Minimum size of a file whose import is recorded in the store, in bytes. Smaller files can be read and planned again quickly. */
const leastBytes = 64 * 1024
/** Maximum length of the record of an import, in characters. A longer record is not written. */
const mostNoted = 64 * 1024

const prefix = 'imported-'

interface End {
  readonly stream: string
  readonly revision: number
  readonly hash: string
}
interface Noted extends Pick<ImportResult, 'format' | 'report'> {
  readonly conversations: readonly { readonly id: string; readonly ends: readonly End[] }[]
}

/** A digest of a file's bytes, computed while they are read. It gives the name of the stream in which the file's import is recorded. */
export interface FileDigest {
  readonly taking: (open: () => OpenSession['bytes']) => OpenSession['bytes']
  /** Returns the name of the stream in which the file's import is recorded; undefined for a file whose import is not recorded. */
  readonly stream: () => string | undefined
  /** Returns the digest; undefined if another import may read the same bytes differently. */
  readonly value: () => string | undefined
  /** Returns the digest of the beginning whose length was given. */
  readonly begun: () => string | undefined
  readonly bytes: () => number
}

/**
 * Returns a digest of a file and of everything else that determines the result of its import.
 *
 * @param archive whether the file is to be archived, too
 * @param beginning number of bytes whose digest `begun` returns
 */
export const fileDigest = (options: SessionOptions, archive: boolean, beginning = 0): FileDigest => {
  const { format = '', id = '', skipBadLines = false } = options
  const decisive = [readingEdition, format, id, skipBadLines, archive]
  const hash: Hash = createHash('sha256').update(JSON.stringify(decisive))
  let length = 0
  let begun: string | undefined
  // A registered format may read the same file differently the next time.
  const value = () => (mayBeOwn(options) ? undefined : hash.copy().digest('hex'))
  const add = (piece: Uint8Array): void => {
    const rest = beginning - length
    if (rest > 0 && rest < piece.length) {
      add(piece.subarray(0, rest))
      return add(piece.subarray(rest))
    }
    hash.update(piece)
    length += piece.length
    if (length === beginning) begun = value()
  }
  return {
    async *taking(open) {
      for await (const piece of readFileBytes(options.file, opened(open))) {
        // The reader of the file refuses anything else.
        if (piece instanceof Uint8Array) add(piece)
        yield piece
      }
    },
    stream: () => {
      const digest = length < leastBytes ? undefined : value()
      return digest === undefined ? undefined : prefix + digest
    },
    value,
    begun: () => begun,
    bytes: () => length,
  }
}

/** Opens the bytes only when they are read, so that an error on opening is reported as an error of the file. */
async function* opened(open: () => OpenSession['bytes']): OpenSession['bytes'] {
  yield* open()
}

/**
 * Returns the result of an import that was recorded in this stream, if everything that it added is still in the store; otherwise
 * undefined.
 */
export const findKnownImport = async (
  store: EventStore,
  stream: string | undefined,
): Promise<ImportResult | undefined> => {
  const noted = stream === undefined ? undefined : await notedIn(store, stream)
  if (!noted) return undefined
  const conversations: ImportResult['conversations'][number][] = []
  for (const { id, ends } of noted.conversations) {
    const events = await run(eventsOf(store, id, ends))
    if (E.isLeft(events) || events.right === undefined) return undefined
    conversations.push({ id, added: 0, events: events.right })
  }
  return { format: noted.format, report: noted.report, conversations }
}

const notedIn = async (store: EventStore, stream: string): Promise<Noted | undefined> => {
  const end = await run(readStreamEnd(store, stream))
  return E.isRight(end) && end.right.last ? (JSON.parse(end.right.last.data) as Noted) : undefined
}

/** Returns the number of events of a conversation if it and its notes still begin with the recorded events; otherwise undefined. */
async function* eventsOf(
  store: EventStore,
  id: string,
  ends: readonly End[],
): Fallible<ReadError, number | undefined> {
  const { lineage, last, unfinished } = yield* unwrap(readConversationEnd(store, id))
  if (!last || unfinished) return undefined
  for (const { stream, revision, hash } of ends) {
    const [event] = yield* unwrap(store.read({ stream, from: revision, direction: 'forwards', limit: 1 }))
    if (event?.revision !== revision || hashOf(event) !== hash) return undefined
    if (stream !== last.stream && (yield* readStreamEnd(store, stream)).unfinished) return undefined
  }
  return lastPosition({ lineage, revision: last.revision }) + 1
}

/** Records the import of a file in the store. A failure is not reported; it only means that the next import parses the file again. */
export const noteImport = async (
  store: EventStore,
  stream: string | undefined,
  { format, report, conversations }: ImportResult,
): Promise<void> => {
  if (stream === undefined) return
  const ends = await run(allEnds(store, conversations))
  if (E.isLeft(ends) || ends.right === undefined) return
  const data = JSON.stringify({ format, report, conversations: ends.right } satisfies Noted)
  const before = await run(readStreamEnd(store, stream))
  if (data.length > mostNoted || E.isLeft(before) || before.right.last?.data === data) return
  const event = { id: newCommandId(), type: 'FileImported', data, metadata: '{}' }
  const expected = before.right.last?.revision ?? -1
  await store.append({ stream, events: [event], expected, repeat: 'none' })()
}

async function* allEnds(
  store: EventStore,
  conversations: ImportResult['conversations'],
): Fallible<ReadError, Noted['conversations'] | undefined> {
  const all: Noted['conversations'][number][] = []
  for (const { id } of conversations) {
    const own = yield* readStreamEnd(store, streamOf(id))
    const notes = yield* readStreamEnd(store, notesStreamOf(id))
    if (!own.last || own.unfinished || notes.unfinished) return undefined
    all.push({ id, ends: [own.last, notes.last].flatMap((last) => (last ? [endAt(last)] : [])) })
  }
  return all
}

const endAt = (event: RecordedEvent): End => ({
  stream: event.stream,
  revision: event.revision,
  hash: hashOf(event),
})
