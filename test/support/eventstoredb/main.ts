import { DatabaseSync } from 'node:sqlite'
import { eventStoreDb } from './server.ts'

/**
 * `main.ts [port] [FILE…]`: a database in a process of its own, which holds what is in these SQLite stores. Prints its URL; ends on
 * SIGTERM, and forgets everything.
 */
const [, , port = '0', ...files] = process.argv
const database = await eventStoreDb({ port: Number(port) })

for (const file of files) {
  const db = new DatabaseSync(file, { readOnly: true })
  for (const { id, name } of db.prepare('SELECT id, name FROM streams').all()) {
    const rows = db.prepare('SELECT id, type, data, metadata FROM events WHERE stream = ? ORDER BY revision')
    const events = function* () {
      for (const row of rows.iterate(id as number))
        yield {
          id: String(row['id']),
          type: String(row['type']),
          isJson: true,
          data: Buffer.from(String(row['data'])),
          metadata: Buffer.from(String(row['metadata'])),
        }
    }
    database.preload(String(name), events())
  }
  db.close()
}

process.stdout.write(`${database.url}\n`)
process.once('SIGTERM', () => void database.close())
