import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TemporaryFileFailed, temporaryFileFailed } from '../formats/errors.ts'
import type { Shelf } from '../formats/shelf.ts'
import { toError } from '../store/errors.ts'

/** A shelf that must be closed. */
export interface FileShelf extends Shelf {
  readonly close: () => void
}

/** So many bytes stay in memory, so that an import of usual size needs no file. */
const room = 4 * 1024 * 1024
/** Bytes that are written and read at once. */
const blockBytes = 256 * 1024
/** Each value stands behind its length in bytes. */
const headBytes = 4

/**
 * Keeps values as JSON, in a temporary file that only its owner can read. Throws `TemporaryFileFailed`.
 *
 * @param inMemory bytes that are kept in memory first
 */
export const fileShelf = (inMemory: number = room): FileShelf => {
  let file: File | undefined
  let buffer = Buffer.allocUnsafe(blockBytes)
  let filled = 0
  /** Bytes in the file: all before those in the buffer. */
  let written = 0

  const reserve = (bytes: number): void => {
    if (filled > 0 && filled + bytes > (file ? blockBytes : inMemory)) {
      file ??= openFile()
      file.write(buffer.subarray(0, filled), written)
      written += filled
      filled = 0
      buffer = Buffer.allocUnsafe(blockBytes)
    }
    if (filled + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, filled + bytes))
    buffer.copy(larger, 0, 0, filled)
    buffer = larger
  }
  const put = (value: unknown): number => {
    const text = JSON.stringify(value)
    const length = Buffer.byteLength(text)
    reserve(headBytes + length)
    const place = written + filled
    buffer.writeUInt32LE(length, filled)
    buffer.write(text, filled + headBytes)
    filled += headBytes + length
    return place
  }
  const get = (place: number): unknown => {
    const bytes = (at: number, length: number): Buffer =>
      at < written && file ? file.read(at, length) : buffer.subarray(at - written, at - written + length)
    const length = bytes(place, headBytes).readUInt32LE()
    return JSON.parse(bytes(place + headBytes, length).toString())
  }
  return {
    put: (value) => attempt(() => put(value)),
    get: (place) => attempt(() => get(place)),
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
  readonly write: (bytes: Uint8Array, at: number) => void
  /** Bytes that were written; to be used before the next read. */
  readonly read: (at: number, length: number) => Buffer
  readonly close: () => void
}

const openFile = (): File => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-import-'))
  const file = openSync(join(folder, 'content'), 'wx+', 0o600)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  // Nothing stays behind, even if the process is killed. Windows keeps an open file: there it goes when the shelf is closed.
  if (process.platform !== 'win32') remove()
  // Most is read in the order in which it was written.
  const block = Buffer.allocUnsafe(blockBytes)
  let [start, end] = [0, 0]

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
  const read: File['read'] = (at, length) => {
    if (length > blockBytes) {
      const bytes = Buffer.allocUnsafe(length)
      fill(bytes, at, length)
      return bytes
    }
    if (at < start || at + length > end) {
      end = at + fill(block, at, length)
      start = at
    }
    return block.subarray(at - start, at - start + length)
  }
  const close = (): void => {
    closeSync(file)
    remove()
  }
  return { write, read, close }
}
