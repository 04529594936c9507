import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type FileUnreadable, fileUnreadable, type ImportError } from './formats/errors.ts'
import { type SessionFile, type SessionOptions, sessionReader } from './formats/parse-session.ts'
import type { ImportPlan, StoredImport } from './formats/plan.ts'
import type { Shelf } from './formats/shelf.ts'
import { linesOf, createImportNotes } from './formats/source.ts'
import { splitLines } from './formats/split-lines.ts'
import { pacer } from '../store/breath.ts'
import { isTemporaryFileFailed } from './shelf.ts'
import { toError } from '../result/typed-error.ts'

/**
 * A session file of any size, given as its bytes (UTF-8) in pieces. An error during iteration becomes a `FileUnreadable`. If `bytes` is
 * a function, it returns the bytes from the beginning each time. It is called once for a file that was imported before, to check that
 * the file is the same; otherwise twice.
 */
export interface SessionStream extends SessionOptions {
  readonly bytes: Pieces | (() => Pieces)
}
type Pieces = AsyncIterable<Uint8Array>

/** A session file that is being read. */
export interface OpenSession extends SessionOptions {
  readonly bytes: Pieces
}

/** Returns a description of the problem with a session argument; undefined if the argument is valid. */
export const sessionProblem = (
  session: SessionFile | SessionStream | null | undefined,
): string | undefined => {
  const given: Partial<SessionFile & SessionStream> = session ?? {}
  const { bytes } = given
  const isBytes = typeof bytes === 'function' || typeof bytes?.[Symbol.asyncIterator] === 'function'
  return (typeof given.text === 'string' || (given.text === undefined && isBytes)) &&
    typeof given.file === 'string'
    ? undefined
    : 'must be { text, file } or { bytes, file }: the content to import, and its name for messages'
}

export const isStream = <S extends OpenSession | SessionStream>(session: SessionFile | S): session is S =>
  !('text' in session) || typeof session.text !== 'string'

type Read = Promise<E.Either<ImportError, ImportPlan | StoredImport>>

/** Like `parseSession`, but lets other work of the process run in between. */
export const readText = async ({ text, ...options }: SessionFile, shelf: Shelf): Read => {
  const reader = sessionReader(options, createImportNotes(), shelf)
  const pace = pacer()
  for (const line of linesOf(text)) {
    reader.read(line)
    const pause = pace(line.text.length)
    if (pause) await pause
  }
  return reader.finish()
}

export const notBytes = E.left(invalidInput('session.bytes', 'must yield Uint8Arrays'))

/** A reader of a session's bytes. */
export interface BytesReader {
  readonly read: (pieces: Pieces | Iterable<Uint8Array>) => Promise<E.Either<InvalidInput, void>>
  /**
   * Returns what the session is if its file ends here, and the reader if it may read what is added to the file afterwards; undefined if
   * that may change what was read.
   */
  readonly finish: () => { readonly read: Awaited<Read>; readonly reader: BytesReader | undefined }
}

/** Returns a reader of a session's bytes. Large content is put on the shelf. */
export const bytesReader = (options: SessionOptions, shelf: Shelf): BytesReader => {
  const notes = createImportNotes()
  const reader = sessionReader(options, notes, shelf)
  const lines = splitLines(reader, notes)
  const own: BytesReader = {
    read: async (pieces) => {
      const pace = pacer()
      for await (const piece of pieces) {
        if (!(piece instanceof Uint8Array)) return notBytes
        lines.push(piece)
        const pause = pace(piece.length)
        if (pause) await pause
      }
      return E.right(undefined)
    },
    finish: () => {
      const mayGoOn = !lines.isWithin() && reader.mayGoOn()
      const takeBack = notes.mark()
      lines.finish()
      const read = reader.finish()
      takeBack()
      return { read, reader: mayGoOn ? own : undefined }
    },
  }
  return own
}

/** Reads a session as its bytes arrive. Large content is put on the shelf. Throws `FileUnreadable`. */
export const readSession = async ({ bytes, ...options }: OpenSession, shelf: Shelf): Read => {
  const reader = bytesReader(options, shelf)
  const read = await reader.read(readFileBytes(options.file, bytes))
  return E.isLeft(read) ? read : reader.finish().read
}

/** Yields the bytes of a file. Converts an error during iteration to `FileUnreadable`. */
export async function* readFileBytes(
  file: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (cause) {
    if (isFileUnreadable(cause) || isTemporaryFileFailed(cause)) throw cause
    throw toError(fileUnreadable(file, cause))
  }
}

export const isFileUnreadable = (error: unknown): error is FileUnreadable =>
  error instanceof Error && '_tag' in error && error._tag === 'FileUnreadable'
