import { realpathSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { StoreError } from '../errors.ts'
import { currentVersion, unusable, versionOf } from './schema.ts'

/** Tells whether the file that is open is still the store that was opened. */
export interface Guard {
  /** Ask after a read, and in a transaction before its first write: another process may have changed the schema. */
  readonly schemaProblem: () => StoreError | undefined
  /** Ask after a commit, before it is acknowledged: SQLite goes on writing to a file that was removed. Once lost, it stays so. */
  readonly fileProblem: () => StoreError | undefined
}

/** @param db open, its schema migrated, so the files beside it are there */
export const guardOf = (
  db: DatabaseSync,
  { url, path }: { readonly url: string; readonly path: string },
): Guard => {
  const version = db.prepare('PRAGMA user_version')
  // The first read opens the files beside it.
  version.get()
  // SQLite puts them beside the file that a link leads to.
  const real = realpathSync(path)
  const files = [path, `${real}-wal`, `${real}-shm`]
  const folders = [...new Set([path, real].map(dirname))]
  const opened = files.map(identityOf)
  let lost: StoreError | undefined
  /** The folders as they were when the files were last looked at; empty as long as they may change again unseen. */
  let seen: readonly (Stats | undefined)[] = []

  // To look at the folder costs a third of looking at the files, and nothing goes from it without a trace.
  const look = (): void => {
    const found = folders.map(statsOf)
    if (found.every((folder, index) => isSame(folder, seen[index]))) return
    if (files.some((file, index) => identityOf(file) !== opened[index])) lost = replaced(url)
    const quiet = Date.now() - coarsest
    seen = found.every((folder) => folder !== undefined && folder.mtimeMs < quiet) ? found : []
  }
  return {
    schemaProblem: () =>
      version.get()?.['user_version'] === currentVersion
        ? undefined
        : (unusable(url, versionOf(db)) ?? unusable(url, 'misshapen')),
    fileProblem: () => {
      if (!lost) look()
      return lost
    },
  }
}

/** Milliseconds in which a file system may take two changes of a folder for one. */
const coarsest = 1_100

const isSame = (folder: Stats | undefined, before: Stats | undefined): boolean =>
  folder !== undefined &&
  folder.mtimeMs === before?.mtimeMs &&
  folder.ino === before.ino &&
  folder.dev === before.dev

const replaced = (store: string): StoreError => ({
  _tag: 'StoreReplaced',
  message: `the file of ${store} is no longer the one that was opened: it, its -wal or its -shm was removed, renamed or replaced. Put it back if it was moved, open the store again, and repeat the command`,
  store,
})

/** What tells a file from every other one that is there; empty where none is. */
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
