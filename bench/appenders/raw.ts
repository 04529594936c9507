import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { OpenAppender } from './appender.ts'

/** What one would write by hand: as durable, as safe against two writers of one revision, and nothing more. */
export const openRaw: OpenAppender = async (folder) => {
  const db = new DatabaseSync(join(folder, 'raw.db'), { timeout: 5_000 })
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE messages (
      conversation TEXT NOT NULL, revision INTEGER NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL,
      UNIQUE (conversation, revision)
    ) STRICT`)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const insert = db.prepare('INSERT INTO messages VALUES (?, ?, ?, ?)')
  const commit = db.prepare('COMMIT')
  let revision = 0
  return {
    name: 'raw node:sqlite',
    append: async (messages) => {
      for (const message of messages) {
        begin.run()
        insert.run('bench', revision++, randomUUID(), JSON.stringify(message))
        commit.run()
      }
    },
    close: async () => db.close(),
  }
}
