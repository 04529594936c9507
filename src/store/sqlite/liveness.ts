import { closeSync, openSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isConversationId } from '../../events/ids.ts'
import type { Liveness } from '../port.ts'
import { networkMount } from './network.ts'

/** Of so many names, the files stay open. */
const mostOthers = 50

/** Something that the file system may refuse, which then says nothing. */
const unless = <A>(attempt: () => A): A | undefined => {
  try {
    return attempt()
  } catch {
    return undefined
  }
}

/** An open file, and which one had its name then. */
interface Opened {
  readonly db: DatabaseSync
  readonly inode: bigint | undefined
}

/** Which file has a name now; undefined if none has. A number is not used again while its file is open. */
const inodeOf = (file: string): bigint | undefined =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino

/** Opens an existing file. */
const opened = (file: string): DatabaseSync => {
  const url = pathToFileURL(file)
  url.searchParams.set('mode', 'rw')
  return new DatabaseSync(url, { timeout: 0 })
}

/** Locks it; false if another has. */
const isLocked = (db: DatabaseSync): boolean =>
  unless(() => db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE') ?? true) === true

/**
 * Each name is a small file beside the store, under a lock of SQLite's, which ends with its process. A process that is stopped still
 * has it.
 *
 * @returns `drop` unlocks all without releasing them, as the end of the process does
 */
export const sqliteLiveness = (path: string): Liveness & { readonly drop: () => void } => {
  const held = new Set<DatabaseSync>()
  /** Files that others have locked: whoever looks at them looks again and again. */
  const others = new Map<string, Opened>()
  const beginning = (): string => `${realpathSync(path)}-alive-`
  /** Names are read from the store: they must lead nowhere else. */
  const fileOf = (name: string): string | undefined =>
    isConversationId(name) ? beginning() + name : undefined

  /** The file that has this name now: who released the name may have taken it again since, with another file. */
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

  const hold = (file: string): (() => void) | undefined => {
    const { db, inode } = openedNow(file)
    if (!isLocked(db)) return undefined
    others.delete(file)
    // It may have been released since it was opened.
    if (inode === undefined || inodeOf(file) !== inode) {
      db.close()
      return undefined
    }
    held.add(db)
    return () => {
      // Before it is unlocked, so that nobody takes it for one whose process has ended. Windows removes no open files.
      unless(() => rmSync(file))
      if (held.delete(db)) db.close()
      unless(() => rmSync(file, { force: true }))
    }
  }

  return {
    hold: (name) =>
      unless(() => {
        const file = fileOf(name)
        // A lock there may not be known to other machines.
        if (file === undefined || networkMount(dirname(file))) return undefined
        closeSync(openSync(file, 'wx', 0o600))
        const release = hold(file)
        if (!release) rmSync(file)
        return release
      }),
    inherit: (name) =>
      unless(() => {
        const file = fileOf(name)
        return file === undefined ? undefined : hold(file)
      }),
    names: () =>
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
