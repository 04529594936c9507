import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

// SQLite does not detect a flipped bit in the content of a page, and often not even a page of zeros: rows are then wrong or missing.
// Therefore a file next to the index contains a checksum of each page. Pages reach the index file only when they are moved from the
// WAL, which happens only here. SQLite has its own checksums for pages that are still in the WAL.

const pageSize = 4_096
/** Number of pages in the WAL above which the pages are moved into the file. Moving them takes some ten milliseconds. */
const mostInWal = 500
/** Number of pages compared in one step. A step takes about a millisecond. */
const atOnce = 256

const sumsOf = (path: string): string => `${path}-sums`
const walOf = (path: string): string => `${path}-wal`

/** Checksums of a file's pages, which reveal damage. */
export interface PageSums {
  /**
   * Reports whether the whole file must be compared, because it has not been compared yet or because a process that keeps no checksums
   * has written to it since the last comparison.
   */
  readonly isTouched: () => boolean
  /** Compares all pages, yielding true for each step whose pages are intact. Yields false and ends if a page is damaged. */
  readonly all: () => Generator<boolean, void>
  /** Compares the next group of pages, starting over after the last page; returns false if a page is damaged. */
  readonly isNextWhole: () => boolean
  /** Moves the WAL into the file and updates the checksums, if the WAL is large or `isAll` is true. */
  readonly settle: (isAll: boolean) => void
  /** Releases the file; call it after closing the connection. */
  readonly close: () => void
}

/**
 * Returns the checksums of a file's pages.
 *
 * @param db an open connection to the file at `path`
 */
export const pageSums = (path: string, db: DatabaseSync): PageSums => {
  const file = held(path)
  let next = 0
  let known: Stamps | undefined
  const isNextWhole = (): boolean => {
    const compared = compare(file.descriptor, path, next)
    next = compared.next
    return compared.isWhole
  }
  return {
    isTouched: () => {
      const now = stampsOf(path)
      const isTouched = known === undefined || (now.file !== known.file && now.sums === known.sums)
      if (!isTouched) known = now
      return isTouched
    },
    all: function* () {
      known = stampsOf(path)
      next = 0
      do {
        const isWhole = isNextWhole()
        yield isWhole
        if (!isWhole) return
      } while (next > 0)
    },
    isNextWhole,
    settle: (isAll) => {
      const { size = 0 } = statSync(walOf(path), { throwIfNoEntry: false }) ?? {}
      if (size > (isAll ? 0 : mostInWal * pageSize)) move(path, db)
    },
    close: file.release,
  }
}

/** Sizes and last write times of the file and of its checksum file. */
interface Stamps {
  readonly file: string
  readonly sums: string
}

const stampsOf = (path: string): Stamps => {
  const at = (name: string): string => {
    const { size, mtimeMs } = statSync(name, { throwIfNoEntry: false }) ?? {}
    return `${size} ${mtimeMs}`
  }
  return { file: at(path), sums: at(sumsOf(path)) }
}

/** Open file descriptors, shared within the process: closing a file that SQLite also has open would drop SQLite's locks. */
const holders = new Map<string, { readonly descriptor: number; count: number }>()

const held = (path: string): { readonly descriptor: number; readonly release: () => void } => {
  const { dev, ino } = statSync(path)
  const name = `${dev} ${ino}`
  const holder = holders.get(name) ?? { descriptor: openSync(path, 'r'), count: 0 }
  holders.set(name, holder)
  holder.count++
  const release = (): void => {
    if (--holder.count > 0) return
    holders.delete(name)
    closeSync(holder.descriptor)
  }
  return { descriptor: holder.descriptor, release }
}

/**
 * Moves the WAL into the file while a lock prevents other connections from writing. If another connection is reading an older state,
 * the pages that it needs remain in the WAL until a later call.
 */
const move = (path: string, db: DatabaseSync): void => {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(path, { timeout: 0 })
    lock.exec('PRAGMA wal_autocheckpoint = 0; BEGIN IMMEDIATE')
    const { busy, log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? {}
    if (busy === 0 && log === checkpointed) {
      const sums = [...(readSums(path) ?? [])]
      for (const [page, content] of pagesInWal(path, Number(log))) sums[page - 1] = crc32(content)
      writeSums(path, sums)
    }
    lock.exec('ROLLBACK')
  } catch {
    // Another process is writing, or the file cannot be written: the pages stay in the WAL.
  } finally {
    lock?.close()
  }
}

/**
 * Returns the pages in the WAL with their numbers, in the order in which they were written.
 *
 * @param most maximum number of frames to consider; default: all frames with the salt of the WAL header
 */
const pagesInWal = (path: string, most = Infinity): readonly (readonly [page: number, Buffer])[] => {
  const pages: (readonly [number, Buffer])[] = []
  const wal = bytesOf(walOf(path))
  const salt = wal.subarray(16, 24)
  const frame = pageSize + 24
  for (let at = 32; at + frame <= wal.length && pages.length < most; at += frame) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    pages.push([wal.readUInt32BE(at), wal.subarray(at + 24, at + frame)])
  }
  return pages
}

/** Checksums that were read last, and the file that they were read from. They are read for each block of pages that is compared. */
let lastRead: { readonly file: string; readonly sums: Uint32Array | undefined } | undefined

/** Returns the checksums, or undefined if their file is missing or itself damaged. Reads them only if the file was replaced. */
const knownSums = (path: string): Uint32Array | undefined => {
  const found = statSync(sumsOf(path), { bigint: true, throwIfNoEntry: false })
  if (!found) return undefined
  const file = [found.dev, found.ino, found.size, found.mtimeNs].join()
  if (lastRead?.file !== file) lastRead = { file, sums: readSums(path) }
  return lastRead.sums
}

/** Reads the checksums; returns undefined if their file is missing or itself damaged. */
const readSums = (path: string): Uint32Array | undefined => {
  const bytes = bytesOf(sumsOf(path))
  const last = bytes.length - 4
  if (last < 0 || last % 4 > 0 || bytes.readUInt32LE(last) !== crc32(bytes.subarray(0, last)))
    return undefined
  return new Uint32Array(new Uint8Array(bytes).buffer, 0, last / 4)
}

const bytesOf = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

/** Writes the checksums to a temporary file and renames it, so that the old checksums remain if the process is killed while writing. */
const writeSums = (path: string, sums: readonly number[]): void => {
  const bytes = Buffer.from(Uint32Array.from([...sums, 0]).buffer)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4)
  const temporary = `${sumsOf(path)}.${process.pid}`
  writeFileSync(temporary, bytes, { mode: 0o600 })
  renameSync(temporary, sumsOf(path))
}

/** Result of comparing some pages of a file. */
interface Compared {
  readonly isWhole: boolean
  /** 0-based number of the page to continue with; 0 after the last page. */
  readonly next: number
}

/** Compares pages, and compares them again if they differ, because another process may have been moving pages at that moment. */
const compare = (file: number, path: string, first: number): Compared => {
  const compared = compareOnce(file, path, first, knownSums(path))
  return compared.isWhole ? compared : compareOnce(file, path, first, readSums(path))
}

/** Pages that are being compared. One buffer for all, because new memory takes as long as the read. */
const block = Buffer.allocUnsafeSlow(atOnce * pageSize)

const compareOnce = (file: number, path: string, first: number, sums: Uint32Array | undefined): Compared => {
  const pages = Math.ceil(fstatSync(file).size / pageSize)
  // A new file contains at most its first page; everything else is still in the WAL.
  if (!sums) return { isWhole: pages <= 1, next: 0 }
  if (sums.length > pages) return damaged
  const length = readSync(file, block, 0, block.length, first * pageSize)
  const end = first + Math.ceil(length / pageSize)
  let inWal: ReturnType<typeof pagesInWal> | undefined
  for (let page = first; page < end; page++) {
    const at = (page - first) * pageSize
    const content = block.subarray(at, Math.min(length, at + pageSize))
    if (crc32(content) === sums[page]) continue
    // The process that moved the page has not written its checksum yet, or was killed before it could.
    inWal ??= pagesInWal(path)
    if (!inWal.some(([number, moved]) => number === page + 1 && moved.equals(content))) return damaged
  }
  return { isWhole: true, next: end > first && end < pages ? end : 0 }
}

const damaged: Compared = { isWhole: false, next: 0 }

/** Reports whether a whole file is intact; used by readers that do not write to it. */
export const isWhole = (path: string): boolean => {
  const file = held(path)
  try {
    for (let next = 0; ;) {
      const compared = compare(file.descriptor, path, next)
      if (!compared.isWhole || compared.next === 0) return compared.isWhole
      next = compared.next
    }
  } finally {
    file.release()
  }
}
