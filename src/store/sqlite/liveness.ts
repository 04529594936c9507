import { closeSync, openSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isConversationId } from '../../events/ids.ts'
import type { Liveness, NameRelease } from '../port.ts'
import { networkMount } from './network.ts'

/** Maximum number of files kept open to check whether other processes still hold their names. */
const mostOthers = 50

/**
 * Returns the result of a file operation; undefined if the file system refuses the operation, because a refusal gives no information.
 */
const unless = <A>(attempt: () => A): A | undefined => {
  try {
    return attempt()
  } catch {
    return undefined
  }
}

/** An open file, with the inode that the file name had when the file was opened. */
interface Opened {
  readonly db: DatabaseSync
  readonly inode: bigint | undefined
}

/** Returns the inode of a file name; undefined if the file does not exist. An inode is not reused while its file is open. */
const inodeOf = (file: string): bigint | undefined =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino

/** Opens a file as a database; fails if the file does not exist. */
const opened = (file: string): DatabaseSync => {
  const url = pathToFileURL(file)
  url.searchParams.set('mode', 'rw')
  return new DatabaseSync(url, { timeout: 0 })
}

/** Locks the file and returns true; returns false if another connection has locked it. */
const isLocked = (db: DatabaseSync): boolean =>
  unless(() => db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE') ?? true) === true

/**
 * Creates a `Liveness` in which each name is held as a small file next to the store, under an SQLite lock that ends with the process. A
 * suspended process keeps its lock.
 *
 * @returns the `Liveness`; its method `drop` unlocks all names without releasing them, which has the same effect as the end of the
 * process
 */
export const sqliteLiveness = (path: string): Liveness & { readonly drop: () => void } => {
  const held = new Set<DatabaseSync>()
  /** Files locked by other processes. They stay open because a caller that checks a name checks it repeatedly. */
  const others = new Map<string, Opened>()
  const beginning = (): string => `${realpathSync(path)}-alive-`
  /**
   * Returns the path of the file for a name; undefined for an invalid name. Names are read from the store, so they must not be able to
   * refer to any other location.
   */
  const fileOf = (name: string): string | undefined =>
    isConversationId(name) ? beginning() + name : undefined

  /**
   * Opens the file that currently has this name, unless that file is already open. The file may differ from an earlier one, because the
   * process that released the name may have taken it again and created another file.
   */
  const openedNow = (file: string): Opened => {
    const inode = inodeOf(file)
    const kept = others.get(file)
    if (kept && kept.inode === inode) return kept
    if (others.delete(file)) kept?.db.close()
    const fresh = { db: opened(file), inode }
    others.set(file, fresh)
    const [oldest] = others
    if (oldest && others.size > mostOthers && others.delete(oldest[0])) oldest[1].db.close()
    return fresh
  }

  const hold = (file: string): NameRelease | undefined => {
    const { db, inode } = openedNow(file)
    if (!isLocked(db)) return undefined
    others.delete(file)
    // The name may have been released since the file was opened.
    if (inode === undefined || inodeOf(file) !== inode) {
      db.close()
      return undefined
    }
    held.add(db)
    return async () => {
      // Removed before it is unlocked, so that no other process concludes that this one has ended. Windows cannot remove open files.
      unless(() => rmSync(file))
      if (held.delete(db)) db.close()
      unless(() => rmSync(file, { force: true }))
    }
  }

  return {
    hold: async (name) =>
      unless(() => {
        const file = fileOf(name)
        // A lock on a network file system may be invisible to other machines.
        if (file === undefined || networkMount(dirname(file))) return undefined
        closeSync(openSync(file, 'wx', 0o600))
        const release = hold(file)
        if (!release) rmSync(file)
        return release
      }),
    inherit: async (name) =>
      unless(() => {
        const file = fileOf(name)
        return file === undefined ? undefined : hold(file)
      }),
    names: async () =>
      unless(() => {
        const start = beginning()
        const own = basename(start)
        return readdirSync(dirname(start)).flatMap((file) =>
          file.startsWith(own) ? [file.slice(own.length)] : [],
        )
      }) ?? [],
    drop: () => {
      for (const db of held) db.close()
      for (const { db } of others.values()) db.close()
      held.clear()
      others.clear()
    },
  }
}
