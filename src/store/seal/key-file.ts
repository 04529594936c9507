import { closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyStore } from './key-store.ts'

/** Marks a file of keys: "PALK". */
export const applicationId = 0x50_41_4c_4b
/** Maximum wait for another process's lock, in milliseconds. */
const timeout = 5_000
const pause = 5

/**
 * Keeps keys in an SQLite file, which the first write creates, for its owner only. Any number of processes may use it. The methods
 * reject with an `Error` if the file cannot be used.
 */
export const keyFile = (path: string): KeyStore => {
  const file = resolve(path)
  let opened: DatabaseSync | undefined
  let inode: number | undefined

  const open = (): DatabaseSync => {
    const db = new DatabaseSync(file, { timeout })
    try {
      const { application_id: own, tables } =
        db
          .prepare('SELECT *, (SELECT count(*) FROM sqlite_schema) AS tables FROM pragma_application_id')
          .get() ?? {}
      if (own !== applicationId && tables !== 0)
        throw new Error('it is a database of something else: give another path')
      db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
        PRAGMA application_id = ${applicationId};
        CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID`)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  }
  /** Returns the open database. Throws an `Error` if it is no longer the file at the path: what is written there would be lost. */
  const same = (): DatabaseSync => {
    opened ??= open()
    const found = statSync(file, { throwIfNoEntry: false })?.ino
    inode ??= found
    if (found === undefined || found !== inode)
      throw new Error('it was deleted or replaced while it was open: put it back, and start again')
    return opened
  }
  // Unlike `existsSync`, which finds no file in a folder that this process may not search.
  const isThere = (): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined
  const existing = (): DatabaseSync | undefined => (opened || isThere() ? same() : undefined)

  return {
    name: path,
    read: async (id) => {
      const found = existing()?.prepare('SELECT text FROM keys WHERE id = ?').get(id)
      return found && String(found['text'])
    },
    write: async (id, text, before) => {
      if (!opened && !isThere()) closeSync(openSync(file, 'a', 0o600))
      const db = same()
      if (before === undefined)
        return db.prepare('INSERT OR IGNORE INTO keys VALUES (?, ?)').run(id, text).changes === 1
      const { changes } = db
        .prepare('UPDATE keys SET text = ? WHERE id = ? AND text = ?')
        .run(text, id, before)
      // The log still has the former text.
      if (changes === 1) await emptyLog(db)
      return changes === 1
    },
    scrub: async () => {
      const db = existing()
      if (db) await emptyLog(db)
    },
    close: async () => {
      opened?.close()
      opened = undefined
      inode = undefined
    },
  }
}

const emptyLog = async (db: DatabaseSync): Promise<void> => {
  const end = performance.now() + timeout
  // SQLite does not wait for another process that empties the log, too.
  for (;;) {
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {}
    if (busy === 0) return
    if (performance.now() > end)
      throw new Error('another process reads it, so its log still has destroyed keys: repeat the command')
    await sleep(pause)
  }
}
