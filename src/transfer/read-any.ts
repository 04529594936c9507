import type * as E from 'fp-ts/lib/Either.js'
import type { ImportError } from './formats/errors.ts'
import type { SessionFile, SessionOptions } from './formats/parse-session.ts'
import type { ImportPlan, StoredImport } from './formats/plan.ts'
import { ownFormats } from './formats/registry.ts'
import { memoryShelf, type Shelf } from './formats/shelf.ts'
import { pacer } from '../store/breath.ts'
import { maybeDocument, readApart, smallest } from './read-apart.ts'
import {
  type BytesReader,
  bytesReader,
  isStream,
  notBytes,
  type OpenSession,
  readFileBytes,
  readText,
} from './read-session.ts'
import type { FileShelf } from './shelf.ts'

type Read = E.Either<ImportError, ImportPlan | StoredImport>

/** A session that was read. */
export interface AnySession {
  readonly read: Read
  /** The shelf that holds the plan. The plan of a text is in memory unless it was read in the thread. */
  readonly shelf: Shelf
  /** Reads what is added to the file; undefined if that may change what was read. */
  readonly reader?: BytesReader | undefined
}

/** Reads a session. A large JSON document is read in a separate thread. */
export const readAny = async (session: SessionFile | OpenSession, shelf: FileShelf): Promise<AnySession> => {
  if (isStream(session)) return { ...(await readBytes(session, shelf)), shelf }
  const { text, ...options } = session
  if (text.length >= smallest && !mayBeOwn(options) && maybeDocument(text.slice(0, smallest)))
    return { read: await readApart(options, slicesOf(text), shelf), shelf }
  const inMemory = memoryShelf()
  return { read: await readText(session, inMemory), shelf: inMemory }
}

/** Reports whether a registered format may apply. The reader thread does not have the registered formats. */
export const mayBeOwn = ({ format }: SessionOptions): boolean =>
  format === undefined ? ownFormats().size > 0 : ownFormats().has(format)

async function* slicesOf(text: string): AsyncGenerator<string> {
  const pace = pacer()
  for (let at = 0; at < text.length; at += smallest) {
    yield text.slice(at, at + smallest)
    const pause = pace(smallest)
    if (pause) await pause
  }
}

const readBytes = async (
  { bytes, ...options }: OpenSession,
  shelf: FileShelf,
): Promise<Omit<AnySession, 'shelf'>> => {
  const source = readFileBytes(options.file, bytes)
  const begun: Uint8Array[] = []
  let length = 0
  let isWrong = false
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await source.next()
    isWrong ||= done !== true && !(value instanceof Uint8Array)
    return done === true || isWrong ? undefined : value
  }
  for (let piece = await next(); piece; piece = length < smallest ? await next() : undefined) {
    begun.push(piece)
    length += piece.length
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* begun.splice(0)
      for (let piece = isWrong ? undefined : await next(); piece; piece = await next()) yield piece
    } finally {
      await source.return(undefined)
    }
  }
  const isApart = length >= smallest && !mayBeOwn(options) && maybeDocument(Buffer.concat(begun).toString())
  if (isApart) {
    const read = await readApart(options, all(), shelf)
    return { read: isWrong ? notBytes : read }
  }
  const reader = bytesReader(options, shelf)
  await reader.read(all())
  return isWrong ? { read: notBytes } : reader.finish()
}
