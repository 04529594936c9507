import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { eventStoreDb } from './server.ts'

/**
 * `main.ts [port] [FILE…] [--others=N]`: a database in a process of its own, which holds what is in these SQLite stores, and before that
 * so many events of somebody else's; with those it looks through 40,000 events a second. Prints its URL; ends on SIGTERM, and forgets
 * everything.
 */
const [, , port = '0', ...rest] = process.argv
const files = rest.filter((word) => !word.startsWith('--'))
const others = Number(rest.find((word) => word.startsWith('--others='))?.split('=')[1] ?? 0)
const database = await eventStoreDb({ port: Number(port), ...(others > 0 && { scanSpeed: 40_000 }) })

const none = Buffer.alloc(0)
const other = function* (count: number) {
  for (let n = 0; n < count; n++)
    yield { id: randomUUID(), type: 'Other', isJson: false, data: none, metadata: none }
}
if (others > 0) database.preload('other', other(others))

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
