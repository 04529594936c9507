import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import * as E from 'fp-ts/lib/Either.js'
import { fileUnreadable, type ImportError, type TemporaryFileFailed } from './formats/errors.ts'
import type { SessionOptions } from './formats/parse-session.ts'
import type { ImportPlan, PlannedNote, ImportAction, StoredImport } from './formats/plan.ts'
import { listOn } from './formats/shelf.ts'
import { linesOf, valuesOf } from './formats/source.ts'
import type { StoredEvent } from '../events/codec.ts'
import { toError } from '../result/typed-error.ts'
import type { FileShelf, Lent } from './shelf.ts'

export interface ReaderTask {
  readonly options: SessionOptions
  readonly lent: Lent
}

/** The result of the reader thread: the plan, with the places of its actions or events on the shelf. */
export type ReaderResult =
  | { readonly read: E.Either<ImportError, ShelvedPlan>; readonly lent: Lent }
  | { readonly failed: TemporaryFileFailed }

export interface ShelvedPlan extends Pick<ImportPlan | StoredImport, 'format' | 'report'> {
  readonly conversations: readonly {
    readonly id: string
    readonly withdrawn?: readonly string[]
    readonly places: readonly number[]
    readonly notes?: readonly number[]
  }[]
}

/**
 * Size of the beginning of a session to examine, in bytes for a file and in characters for a text. A shorter session is parsed quickly
 * and needs no thread.
 */
export const smallest = 1024 * 1024

/** Reports whether a large file with this beginning may be a JSON document rather than JSON Lines. */
export const maybeDocument = (beginning: string): boolean => {
  const text = beginning.replace(/^\uFEFF/, '').trimStart()
  if (text.startsWith('[')) return true
  if (!text.startsWith('{')) return false
  const [first] = linesOf(text)
  return first === undefined || first.text.length === text.length || valuesOf(first.text).values.length === 0
}

/**
 * Reads a session in a separate thread, because a JSON document is parsed in a single step, which would block the process. Puts its
 * actions and events on the shelf. Throws `FileUnreadable` and `TemporaryFileFailed`.
 */
export const readApart = async (
  options: SessionOptions,
  pieces: AsyncIterable<Uint8Array | string>,
  shelf: FileShelf,
): Promise<E.Either<ImportError, ImportPlan | StoredImport>> => {
  const task: ReaderTask = { options, lent: shelf.lend() }
  const url = new URL(`./read-thread${extname(import.meta.url)}`, import.meta.url)
  const worker = new Worker(url, { workerData: task })
  const answered = new Promise<ReaderResult>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', (cause) => reject(toError(fileUnreadable(options.file, cause))))
  })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (piece: Uint8Array | string | null): void => worker.postMessage(piece)
  // If the pieces fail first, nothing awaits the answer.
  answered.catch(() => undefined)
  try {
    for await (const piece of pieces) send(piece)
    send(null)
    const answer = await answered
    if ('failed' in answer) throw toError(answer.failed)
    shelf.takeBack(answer.lent)
    return E.map((placed: ShelvedPlan) => planAt(placed, shelf))(answer.read)
  } finally {
    await worker.terminate()
  }
}

const planAt = (
  { format, report, conversations }: ShelvedPlan,
  shelf: FileShelf,
): ImportPlan | StoredImport =>
  format === 'palimpsest'
    ? {
        format: 'palimpsest',
        report,
        conversations: conversations.map(({ id, places, notes }) => ({
          id,
          events: listOn(places, (place) => shelf.get(place) as StoredEvent),
          ...(notes && { notes: listOn(notes, (place) => shelf.get(place) as StoredEvent) }),
        })),
      }
    : {
        format,
        report,
        conversations: conversations.map(({ places, notes, ...plan }) => ({
          ...plan,
          actions: listOn(places, (place) => shelf.get(place) as ImportAction),
          ...(notes && { notes: listOn(notes, (place) => shelf.get(place) as PlannedNote) }),
        })),
      }
