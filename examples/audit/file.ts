import { DatabaseSync } from 'node:sqlite'
import { hashOf } from '../../src/events/codec.ts'

// What somebody does to the database file who can write to it: past the program, with SQL.

/** An event as it is in the file: four texts. */
export interface Row {
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}
export type Change = (rows: readonly Row[]) => readonly Row[]

/** How careful the writer is: `chained` computes every hash again from the first event on, so that each event fits the one before it. */
export type Care = 'careless' | 'chained'

const rowsOf = `SELECT position, id, type, data, metadata FROM events WHERE stream = ? ORDER BY revision`
const insert = `INSERT INTO events (position, stream, revision, id, type, data, metadata, findable) VALUES (?, ?, ?, ?, ?, ?, ?, 1)`

/** Writes a conversation again. */
export const rewrite = (file: string, conversation: string, change: Change, care: Care): void =>
  inFile(file, (db) => {
    const stream = db.prepare('SELECT id FROM streams WHERE name = ?').get(`conversation-${conversation}`)
    const key = Number(stream?.['id'])
    const stored = db.prepare(rowsOf).all(key) as unknown as readonly (Row & { readonly position: number })[]
    const before = stored.map(withoutMark)
    const rows = care === 'chained' ? chained(change(before)) : change(before)
    db.prepare('DELETE FROM events WHERE stream = ?').run(key)
    for (const [revision, { id, type, data, metadata }] of rows.entries())
      db.prepare(insert).run(Number(before[revision]?.position), key, revision, id, type, data, metadata)
    const last = rows.at(-1)
    const end = last ? hashOf(last) : null
    db.prepare('UPDATE streams SET last = ?, hash = ? WHERE id = ?').run(rows.length - 1, end, key)
  })

/** Without what says that an import wrote it: what is shorter now would count as interrupted. */
const withoutMark = <R extends Row>(row: R): R => ({
  ...row,
  metadata: row.metadata.replace(/^\{"\$part":\{[^}]*\},/, '{'),
})

const chained = (rows: readonly Row[]): readonly Row[] => {
  let prev: string | null = null
  return rows.map((row) => {
    const metadata = JSON.stringify({ ...(JSON.parse(row.metadata) as object), prev })
    const written = { ...row, metadata }
    prev = hashOf(written)
    return written
  })
}

/** Removes the ledger, as if there never had been one. */
export const removeLedger = (file: string): void =>
  inFile(file, (db) => {
    const streams = `FROM streams WHERE name = 'ledger' OR name LIKE 'ledger-%'`
    db.exec(`DELETE FROM events WHERE stream IN (SELECT id ${streams}); DELETE ${streams}`)
  })

const inFile = (file: string, write: (db: DatabaseSync) => void): void => {
  const db = new DatabaseSync(file)
  write(db)
  db.close()
}
