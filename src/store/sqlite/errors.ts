import { statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { deniedFile } from '../denied-access.ts'
import type { StoreError } from '../errors.ts'
import { decodePath } from './settings.ts'

/** Advice about a damaged store. */
export const damagedAdvice = 'restore it from a backup, or try the .recover command of sqlite3'

// Primary result codes of SQLite (https://www.sqlite.org/rescode.html); the extended ones share the low byte.
const tags: Readonly<Record<number, readonly [tag: FailureTag, advice: string]>> = {
  5: [
    'StoreBusy',
    'another process held its write lock for too long: try again, or raise the timeout parameter',
  ],
  6: ['StoreBusy', 'one of its tables is locked: try again'],
  8: ['StoreReadOnly', 'it cannot be written: check the permissions of the file and its folder'],
  10: ['StoreUnavailable', 'the disk reported an error: check the disk, then open the store again'],
  11: ['StoreCorrupt', `the file is damaged: ${damagedAdvice}`],
  13: ['StoreFull', 'the disk is full: nothing was written; free some space and try again'],
  14: ['StoreUnavailable', 'it cannot be opened: check that the folder exists and may be written'],
  26: ['StoreCorrupt', 'the file is not an SQLite database: check the path'],
}
type FailureTag = 'StoreBusy' | 'StoreReadOnly' | 'StoreUnavailable' | 'StoreCorrupt' | 'StoreFull'

/** Result code for a statement that does not fit the schema or is not SQL. */
export const sqlError = 1

/** Returns SQLite's primary result code; 0 for an error that does not come from SQLite. */
export const codeOf = (error: unknown): number =>
  typeof error === 'object' && error !== null && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : 0

// SQLite's result codes for the same failures, by error code of the file system.
const codes: Readonly<Record<string, number>> = {
  EACCES: 8,
  EPERM: 8,
  EROFS: 8,
  ENOSPC: 13,
  EDQUOT: 13,
  ENOENT: 14,
  ENOTDIR: 14,
}

const tagOf = (error: unknown): (typeof tags)[number] | undefined =>
  tags[codeOf(error) || codes[String(Reflect.get(Object(error), 'code'))] || 0]

/** Free space, in bytes, below which a failure is due to the full disk: SQLite extends its -shm by 32 KiB. */
const leastRoom = 64 * 1024

/**
 * Reports whether a failure means that the disk is full. SQLite reports an I/O error, or that it cannot open a file, if it has no room
 * for its -wal or -shm.
 */
const isFull = (store: string, cause: unknown): boolean => {
  if (![10, 14].includes(codeOf(cause))) return false
  try {
    const { bavail, bsize } = statfsSync(dirname(pathIn(store)))
    return bavail * bsize < leastRoom
  } catch {
    return false
  }
}

/** Says which file or folder this process may not use, if that may be why it failed. */
const deniedIn = (store: string, cause: unknown): string | undefined =>
  [8, 14].includes(codeOf(cause) || codes[String(Reflect.get(Object(cause), 'code'))] || 0)
    ? deniedFile(pathIn(store))
    : undefined

const pathIn = (store: string): string => resolve(decodePath(store.slice('sqlite:'.length)))

/** Converts an error of the driver or the file system to a store error. */
export const storeError = (store: string, cause: unknown): StoreError => {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const isOfRoom = isFull(store, cause)
  const [_tag, advice] = (isOfRoom ? tags[13] : tagOf(cause)) ?? (['StoreUnavailable', reason] as const)
  const denied = isOfRoom ? undefined : deniedIn(store, cause)
  return { _tag, message: `${store}: ${denied ?? advice} (${reason})`, store, cause }
}
