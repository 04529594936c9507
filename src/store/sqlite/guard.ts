import { realpathSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { StoreError } from '../errors.ts'
import { currentVersion, tablesVersion, unusable, versionOf } from './schema.ts'

/** Set of checks that the open file is still the store that was opened. */
export interface Guard {
  /** Checks the schema. Call this in a transaction before its first write, because another process may have changed the schema. */
  readonly schemaProblem: () => StoreError | undefined
  /**
   * Checks the file. Call this after a commit, before acknowledging it, because SQLite continues to write to a removed file. Once the
   * file has been lost, every later check reports it.
   */
  readonly fileProblem: () => StoreError | undefined
  /**
   * Checks the schema, and the file if it was not checked for a second. Call this before a read: a removed file can still be read, but
   * nobody else sees it.
   */
  readonly readProblem: () => StoreError | undefined
}

/**
 * Creates a guard for an open database.
 *
 * @param db open and migrated, so that its -wal and -shm files exist
 */
export const guardOf = (
  db: DatabaseSync,
  { url, path }: { readonly url: string; readonly path: string },
): Guard => {
  const version = db.prepare('PRAGMA user_version')
  // Every append reads this row, and an array is created faster than an object.
  version.setReturnArrays(true)
  // The first read opens the -wal and -shm files.
  version.get()
  // If the path is a link, these files are next to the link's target.
  const real = realpathSync(path)
  const files = [path, `${real}-wal`, `${real}-shm`]
  const folders = [...new Set([path, real].map(dirname))]
  const opened = files.map(identityOf)
  let lost: StoreError | undefined
  /** State of the folders when the files were last checked; empty while the folders could still change unnoticed. */
  let seen: readonly (Stats | undefined)[] = []

  // Checking the folder costs a third as much as checking the files, and every removal changes the folder.
  const look = (): void => {
    const found = folders.map(statsOf)
    if (found.every((folder, index) => isSame(folder, seen[index]))) return
    if (files.some((file, index) => identityOf(file) !== opened[index])) lost = replaced(url)
    const quiet = Date.now() - coarsest
    seen = found.every((folder) => folder !== undefined && folder.mtimeMs < quiet) ? found : []
  }
  let lookedAt = performance.now()
  const schemaProblem = (): StoreError | undefined => {
    const row: unknown = version.get()
    const found: unknown = Array.isArray(row) ? row[0] : undefined
    if (found === currentVersion || found === tablesVersion) return undefined
    return unusable(url, versionOf(db)) ?? unusable(url, 'misshapen')
  }
  const fileProblem = (): StoreError | undefined => {
    if (!lost) look()
    return lost
  }
  return {
    schemaProblem,
    fileProblem,
    readProblem: () => {
      const now = performance.now()
      if (now - lookedAt >= lookEvery) {
        lookedAt = now
        fileProblem()
      }
      return lost ?? schemaProblem()
    },
  }
}

/** Time in milliseconds within which two changes of a folder may have the same timestamp. */
const coarsest = 1_100

/** Time in milliseconds for which reads rely on the last check of the file. */
const lookEvery = 1_000

const isSame = (folder: Stats | undefined, before: Stats | undefined): boolean =>
  folder !== undefined &&
  folder.mtimeMs === before?.mtimeMs &&
  folder.ino === before.ino &&
  folder.dev === before.dev

const replaced = (store: string): StoreError => ({
  _tag: 'StoreReplaced',
  message: `the file of ${store} is no longer the one that was opened: it, its -wal or its -shm was removed, renamed or replaced. Put it back if it was moved, open the store again (restart a server or worker), and repeat the command`,
  store,
})

/** Returns a text that distinguishes a file from every other existing file; empty if the file does not exist. */
const identityOf = (path: string): string => {
  const stats = statsOf(path)
  return stats ? `${stats.dev}:${stats.ino}` : ''
}

const quietly = { throwIfNoEntry: false } as const

const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path, quietly)
  } catch {
    return undefined
  }
}
