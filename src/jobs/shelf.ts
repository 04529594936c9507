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
const bufferBytes = 1024 * 1024

/**
 * Keeps what is larger than memory in a temporary file that only its owner can read. Throws `TemporaryFileFailed`.
 *
 * @param inMemory bytes that are kept in memory first
 */
export const fileShelf = (inMemory: number = room): FileShelf => {
  let kept = 0
  let file: File | undefined
  const put: Shelf['put'] = (text) => {
    if (kept <= inMemory) {
      kept += 2 * text.length
      return undefined
    }
    return attempt(() => {
      file ??= openFile()
      return file.add(Buffer.from(text, 'utf8'))
    })
  }
  return { put, close: () => file?.close() }
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
  readonly add: (bytes: Buffer) => () => string
  readonly close: () => void
}

const openFile = (): File => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-import-'))
  const file = openSync(join(folder, 'content'), 'wx+', 0o600)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  // Nothing stays behind, even if the process is killed. Windows keeps an open file: there it goes when the shelf is closed.
  if (process.platform !== 'win32') remove()
  let pending: Buffer[] = []
  let pendingBytes = 0
  let written = 0

  const flush = (): void => {
    const bytes = Buffer.concat(pending)
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, written + at)
    written += bytes.length
    pending = []
    pendingBytes = 0
  }
  const read = (start: number, length: number): string => {
    if (pendingBytes > 0) flush()
    const bytes = Buffer.allocUnsafe(length)
    for (let at = 0; at < length;) {
      const more = readSync(file, bytes, at, length - at, start + at)
      if (more === 0) throw new Error('it is shorter than what was written to it')
      at += more
    }
    return bytes.toString('utf8')
  }
  const add = (bytes: Buffer): (() => string) => {
    const start = written + pendingBytes
    pending.push(bytes)
    pendingBytes += bytes.length
    if (pendingBytes >= bufferBytes) flush()
    const { length } = bytes
    return () => attempt(() => read(start, length))
  }
  const close = (): void => {
    closeSync(file)
    remove()
  }
  return { add, close }
}
