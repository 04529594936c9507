import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type PartResult, times as factor } from '../report.ts'
import { alternate, ratioOf, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

/** The full history of a long conversation beside a plain read of its rows. */
export const full = async ({ folder, conversationOf, isQuick }: Setting): Promise<PartResult> => {
  const messages = isQuick ? 2_000 : 10_000
  const file = join(folder, 'full.db')
  const store = await openStore(`sqlite:${file}`)
  const chat = store.conversation('bench')
  for (let written = 0; written < messages; written += 500)
    await chat.append(Array.from({ length: 500 }, (_, index) => messageAt(written + index)))
  const db = new DatabaseSync(file, { readOnly: true })
  const rows = db.prepare('SELECT * FROM events WHERE stream = 1 ORDER BY revision')
  const read = (): readonly unknown[] =>
    rows.all().map((row): unknown => {
      const [data, metadata]: unknown[] = [
        JSON.parse(String(row['data'])),
        JSON.parse(String(row['metadata'])),
      ]
      return { ...row, data, metadata }
    })
  const dataOf = db.prepare('SELECT data FROM events WHERE stream = 1 ORDER BY revision')
  const readData = (): readonly unknown[] => dataOf.all().map(({ data }): unknown => JSON.parse(String(data)))
  const times = await alternate(
    [
      { name: 'full', round: () => timed(() => chat.full()) },
      { name: 'raw', round: () => timed(read) },
      { name: 'data', round: () => timed(readData) },
    ],
    isQuick ? 5 : 11,
  )
  db.close()
  await store.close()
  const events = isQuick ? 10_000 : 1_000_000
  const newest = await newestOf(await conversationOf(events))
  return {
    title: `Full history of ${count(messages)} messages of 1 KB`,
    figures: [
      { what: 'palimpsest: chat.full()', figure: duration(timeOf(times, 'full')) },
      { what: 'raw: SELECT *, JSON.parse of data and metadata', figure: duration(timeOf(times, 'raw')) },
      { what: 'raw: SELECT data, JSON.parse', figure: duration(timeOf(times, 'data')) },
      { what: 'palimpsest beside the data column alone', figure: factor(ratioOf(times, 'full', 'data')) },
      atMost(`the newest 50 of ${count(events)} events, warm`, newest, 3, duration),
      atMost('palimpsest beside the rows', ratioOf(times, 'full', 'raw'), 1.5),
    ],
    notes: [
      'All read the same file. The full history needs of each row its position, id, type, data and time; the row as a whole is what it is held against.',
    ],
  }
}

/** How long it takes to read the newest 50 entries, the store being open and read before: the median, in milliseconds. */
const newestOf = async (file: string): Promise<number> => {
  const store = await openStore(`sqlite:${file}`)
  const chat = store.conversation('bench')
  const name = 'newest'
  const round = (): Promise<number> => timed(() => chat.full({ last: 50 }))
  const times = await alternate([{ name, round }], 21)
  await store.close()
  return timeOf(times, name)
}
