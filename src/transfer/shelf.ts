import { close, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TemporaryFileFailed, temporaryFileFailed } from './formats/errors.ts'
import type { Shelf } from './formats/shelf.ts'
import { toError } from '../result/typed-error.ts'

/** A shelf that must be closed. */
export interface FileShelf extends Shelf {
  /** Lets another thread add values; this thread must not until `takeBack`. */
  readonly lend: () => Lent
  /** Takes the shelf back, with the values added in the meantime. */
  readonly takeBack: (lent: Lent) => void
  readonly close: () => void
}

/** A shelf lent to another thread: its file, which the lending thread must close, and the number of bytes written. */
export interface Lent {
  readonly file: number
  readonly written: number
}

/** Number of bytes kept in memory: an import of usual size needs no file. */
const room = 4 * 1024 * 1024
/** Number of bytes written or read at once. */
const blockBytes = 256 * 1024
/** Number of bytes before each value that hold its length. */
const headBytes = 4

/**
 * Returns a shelf that keeps values as JSON in a temporary file that only its owner can read. Throws `TemporaryFileFailed`.
 *
 * @param inMemory number of bytes to keep in memory first
 * @param lent another thread's shelf, to add more to it
 */
export const fileShelf = (inMemory: number = room, lent?: Lent): FileShelf => {
  let file = lent && fileOf(lent.file)
  let buffer = Buffer.allocUnsafe(blockBytes)
  let filled = 0
  /** Number of bytes in the file: all those before the buffer. */
  let written = lent?.written ?? 0

  const flush = (): File => {
    file ??= openFile()
    file.write(buffer.subarray(0, filled), written)
    written += filled
    filled = 0
    buffer = Buffer.allocUnsafe(blockBytes)
    return file
  }
  const reserve = (bytes: number): void => {
    if (filled > 0 && filled + bytes > (file ? blockBytes : inMemory)) flush()
    if (filled + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, filled + bytes))
    buffer.copy(larger, 0, 0, filled)
    buffer = larger
  }
  const put = (text: string): number => {
    const length = Buffer.byteLength(text)
    reserve(headBytes + length)
    const place = written + filled
    buffer.writeUInt32LE(length, filled)
    buffer.write(text, filled + headBytes)
    filled += headBytes + length
    return place
  }
  const get = (place: number): string => {
    const bytes = (at: number, length: number): Buffer =>
      at < written && file ? file.read(at, length) : buffer.subarray(at - written, at - written + length)
    const length = bytes(place, headBytes).readUInt32LE()
    return bytes(place + headBytes, length).toString()
  }
  return {
    put: (value) => attempt(() => put(JSON.stringify(value))),
    get: (place) => attempt(() => JSON.parse(get(place)) as unknown),
    putText: (text) => attempt(() => put(text)),
    getText: (place) => attempt(() => get(place)),
    lend: () => attempt(() => ({ file: flush().descriptor, written })),
    takeBack: (back) => {
      written = back.written
    },
    close: () => file?.close(),
  }
}

const attempt = <A>(work: () => A): A => {
  try {
    return work()
  } catch (cause) {
    throw toError(temporaryFileFailed(tmpdir(), cause))
  }
}

export const isTemporaryFileFailed = (error: unknown): error is TemporaryFileFailed =>
  error instanceof Error && '_tag' in error && error._tag === 'TemporaryFileFailed'

interface File {
  readonly descriptor: number
  readonly write: (bytes: Uint8Array, at: number) => void
  /** Reads bytes that were written; use them before the next read. */
  readonly read: (at: number, length: number) => Buffer
  readonly close: () => void
}

const openFile = (): File => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-import-'))
  const file = openSync(join(folder, 'content'), 'wx+', 0o600)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  // Removed at once, so nothing is left even if the process is killed. On Windows, which keeps open files, when the shelf is closed.
  if (process.platform !== 'win32') remove()
  // A large file takes a while to close, once it is removed.
  const closeLater = (): void => close(file, remove)
  return { ...fileOf(file), close: closeLater }
}

/** A part of the file that was read: two pages, the first of which begins at a multiple of a page. */
interface Window {
  readonly bytes: Buffer
  start: number
  end: number
}

const pageBytes = blockBytes / 2
/** Number of places read alternately: what was read, what is planned, earlier parts of the same. */
const windows = 4

const fileOf = (file: number): File => {
  /** Open windows, most recently used first. */
  const open: Window[] = []

  const write: File['write'] = (bytes, at) => {
    for (let done = 0; done < bytes.length;)
      done += writeSync(file, bytes, done, bytes.length - done, at + done)
  }
  const fill = (bytes: Buffer, at: number, least: number): number => {
    let done = 0
    while (done < least) {
      const more = readSync(file, bytes, done, bytes.length - done, at + done)
      if (more === 0) throw new Error('it is shorter than what was written to it')
      done += more
    }
    return done
  }
  const windowOn = (at: number, length: number): Window => {
    const found = open.findIndex(({ start, end }) => at >= start && at + length <= end)
    const oldest = found < 0 && open.length === windows ? open.length - 1 : found
    const [window = { bytes: Buffer.allocUnsafe(blockBytes), start: 0, end: 0 }] =
      oldest < 0 ? [] : open.splice(oldest, 1)
    open.unshift(window)
    if (found < 0) {
      window.start = at - (at % pageBytes)
      window.end = window.start
      window.end += fill(window.bytes, window.start, at + length - window.start)
    }
    return window
  }
  const read: File['read'] = (at, length) => {
    if (length > pageBytes) {
      const bytes = Buffer.allocUnsafe(length)
      fill(bytes, at, length)
      return bytes
    }
    const { bytes, start } = windowOn(at, length)
    return bytes.subarray(at - start, at - start + length)
  }
  return { descriptor: file, write, read, close: () => undefined }
}
