import { close, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TemporaryFileFailed, temporaryFileFailed } from './formats/errors.ts'
import type { Shelf } from './formats/shelf.ts'
import { toError } from '../result/typed-error.ts'

/** A shelf that may use a temporary file and must be closed. */
export interface FileShelf extends Shelf {
  /** Like `putText`, for bytes. */
  readonly putBytes: (bytes: Uint8Array) => number
  readonly getBytes: (place: number) => Buffer
  /** Lets another thread add values. This thread must not add values until it calls `takeBack`. */
  readonly lend: () => Lent
  /** Takes the shelf back, including the values that the other thread added. */
  readonly takeBack: (lent: Lent) => void
  readonly close: () => void
}

/** A shelf lent to another thread: its file, which the lending thread must close, and the number of bytes written. */
export interface Lent {
  readonly file: number
  readonly written: number
}

/** Number of bytes to keep in memory. An import of usual size needs no file. */
const room = 4 * 1024 * 1024
const blockBytes = 256 * 1024
/** Number of bytes before each value that contain the length of the value. */
const headBytes = 4

/**
 * Returns a shelf that keeps values as JSON in a temporary file that only its owner can read. Throws `TemporaryFileFailed`.
 *
 * @param inMemory number of bytes to keep in memory before the file is used
 * @param lent a shelf lent by another thread, to which values are added
 */
export const fileShelf = (inMemory: number = room, lent?: Lent): FileShelf => {
  let file = lent && fileOf(lent.file)
  let buffer = Buffer.allocUnsafe(blockBytes)
  let filled = 0
  /** Number of bytes written to the file; the buffer contains the bytes after them. */
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
  const putWith = (length: number, write: (at: number) => void): number => {
    reserve(headBytes + length)
    const place = written + filled
    buffer.writeUInt32LE(length, filled)
    write(filled + headBytes)
    filled += headBytes + length
    return place
  }
  const put = (text: string): number => putWith(Buffer.byteLength(text), (at) => buffer.write(text, at))
  const bytesAt = (place: number): Buffer => {
    const bytes = (at: number, length: number): Buffer =>
      at < written && file ? file.read(at, length) : buffer.subarray(at - written, at - written + length)
    const length = bytes(place, headBytes).readUInt32LE()
    return bytes(place + headBytes, length)
  }
  const get = (place: number): string => bytesAt(place).toString()
  return {
    put: (value) => attempt(() => put(JSON.stringify(value))),
    get: (place) => attempt(() => JSON.parse(get(place)) as unknown),
    putText: (text) => attempt(() => put(text)),
    getText: (place) => attempt(() => get(place)),
    putBytes: (bytes) => attempt(() => putWith(bytes.length, (at) => buffer.set(bytes, at))),
    // The next read may overwrite the bytes.
    getBytes: (place) => attempt(() => Buffer.from(bytesAt(place))),
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
  /** Reads bytes that have been written. The result is valid only until the next read. */
  readonly read: (at: number, length: number) => Buffer
  readonly close: () => void
}

const openFile = (): File => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-import-'))
  const file = openSync(join(folder, 'content'), 'wx+', 0o600)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  // Removed at once, so that nothing is left even if the process is killed; on Windows, where open files cannot be removed, when the
  // shelf is closed.
  if (process.platform !== 'win32') remove()
  // Closing a large file that was removed takes a while.
  const closeLater = (): void => close(file, remove)
  return { ...fileOf(file), close: closeLater }
}

/** A cached part of the file, two pages long. Its start is a multiple of the page size. */
interface Window {
  readonly bytes: Buffer
  start: number
  end: number
}

const pageBytes = blockBytes / 2
/**
 * Number of parts of the file to cache. An import alternates between several places: the entries that it has read, the events that it
 * has planned, and earlier parts of both.
 */
const windows = 4

const fileOf = (file: number): File => {
  /** Cached parts of the file, most recently used first. */
  const open: Window[] = []

  const write: File['write'] = (bytes, at) => {
    for (let done = 0; done < bytes.length;)
      done += writeSync(file, bytes, done, bytes.length - done, at + done)
  }
  const fill = (bytes: Buffer, at: number, least: number): number => {
    let done = 0
    while (done < least) {
      const more = readSync(file, bytes, done, bytes.length - done, at + done)
      if (more === 0) throw new Error('it is shorter than the data written to it')
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
