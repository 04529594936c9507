import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Peer } from './peer.ts'

/** What one would write by hand: as safe against two writers of one revision, and nothing more. */
export const peer = (synchronous = 'full'): Peer => ({
  name: synchronous === 'full' ? 'raw node:sqlite' : `raw node:sqlite, synchronous=${synchronous}`,
  durable: synchronous === 'full',
  open: async (folder) => {
    const db = new DatabaseSync(join(folder, 'raw.db'), { timeout: 5_000 })
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
      CREATE TABLE IF NOT EXISTS messages (
        conversation TEXT NOT NULL, revision INTEGER NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL,
        UNIQUE (conversation, revision)
      ) STRICT`)
    const begin = db.prepare('BEGIN IMMEDIATE')
    const insert = db.prepare('INSERT INTO messages VALUES (?, ?, ?, ?)')
    const commit = db.prepare('COMMIT')
    const newest = db.prepare(
      'SELECT revision, data FROM messages WHERE conversation = ? ORDER BY revision DESC LIMIT ?',
    )
    const whole = db.prepare('SELECT data FROM messages WHERE conversation = ? ORDER BY revision')
    const parsed = (rows: ReturnType<typeof whole.all>): readonly unknown[] =>
      rows.map(({ data }): unknown => JSON.parse(String(data)))
    let revision = Number(newest.get('bench', 1)?.['revision'] ?? -1) + 1
    return {
      append: async (messages) => {
        for (const message of messages) {
          begin.run()
          insert.run('bench', revision++, randomUUID(), JSON.stringify(message))
          commit.run()
        }
      },
      last: async (count) => parsed(newest.all('bench', count)).toReversed(),
      all: async () => parsed(whole.all('bench')),
      close: async () => db.close(),
    }
  },
})
