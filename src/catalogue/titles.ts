import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { noteCodec } from '../events/notes.ts'
import { excerptIn, fold } from '../projections/excerpts.ts'
import type { TitleHit } from '../projections/lookups.ts'
import type { RecordedEvent } from '../store/port.ts'
import type { LineagePart } from './lineage.ts'

/**
 * Returns a function that records the conversations with notes, and the texts of title notes. Title notes that cannot be read are
 * skipped.
 */
export const titlesIn = (db: DatabaseSync) => {
  const add = db.prepare(
    'INSERT INTO titles (conversation, revision, at, time, text, folded) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const note = db.prepare('INSERT INTO noted VALUES (?) ON CONFLICT DO NOTHING')
  return (conversation: string, recorded: RecordedEvent): void => {
    note.run(conversation)
    if (recorded.type !== 'Noted' || !recorded.data.includes('"title"')) return
    const noted = noteCodec.decode(recorded, recorded)
    if (E.isLeft(noted) || noted.right.type !== 'Noted') return
    const { data, metadata } = noted.right
    const { kind, data: text, at } = data
    if (kind === 'title' && typeof text === 'string')
      add.run(conversation, recorded.revision, at, metadata.time, text, fold(text))
  }
}

/**
 * SQL for the latest title of each conversation, if the title contains a folded text. Titles are few and short, so all of them are
 * examined.
 */
const current = `titles AS own CROSS JOIN threads ON threads.id = own.conversation
  WHERE instr(folded, ?) > 0 AND NOT EXISTS (
    SELECT 1 FROM titles WHERE conversation = own.conversation AND revision > own.revision
  )`

/**
 * Returns the conversations whose latest title contains a folded text, most recently titled first. Titles inherited by forks are not
 * searched.
 */
export const titlesWith = (db: DatabaseSync, wanted: string, most: number): readonly TitleHit[] =>
  db
    .prepare(`SELECT conversation, own.time AS time, text FROM ${current} ORDER BY own.number DESC LIMIT ?`)
    .all(wanted, most)
    .flatMap((row) => hitOf(row, wanted))

/** Returns the numbers of the conversations whose latest title contains a folded text. Titles inherited by forks are not searched. */
export const rowsTitledWith = (db: DatabaseSync, wanted: string): ReadonlySet<number> =>
  new Set(
    db
      .prepare(`SELECT n FROM ${current}`)
      .all(wanted)
      .map(({ n }) => Number(n)),
  )

/**
 * Returns the title of a conversation if the title contains a folded text. A fork that has no title takes the title that its ancestor
 * had at the fork.
 */
export const titleWith = (
  db: DatabaseSync,
  parts: readonly LineagePart[],
  wanted: string,
): readonly TitleHit[] => {
  const own = parts.at(-1)?.row
  const latest = db.prepare(
    'SELECT conversation, time, text FROM titles WHERE conversation = ? AND at <= ? ORDER BY revision DESC LIMIT 1',
  )
  for (const { row, last } of parts.toReversed()) {
    const title = latest.get(row.id, row === own ? Number.MAX_SAFE_INTEGER : last)
    if (title) return hitOf({ ...title, conversation: own?.id ?? null }, wanted)
  }
  return []
}

const hitOf = (row: Readonly<Record<string, SQLOutputValue>>, wanted: string): readonly TitleHit[] => {
  const excerpt = excerptIn(String(row['text']), wanted)
  return excerpt ? [{ conversation: String(row['conversation']), time: String(row['time']), excerpt }] : []
}
