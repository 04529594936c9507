// Does one operation with a store in this process, and prints the longest stretch that its thread worked between two turns of the event
// loop: processor time, in milliseconds. So a machine that does other things as well does not count.
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { isError, openStore, type Store } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { breath } from '../../src/store/breath.ts'

const [, , what = '', url = '', file = ''] = process.argv

const chatIn = (store: Store) => store.conversation('bench')
type Work = (store: Store, file: string) => Promise<unknown>
const oneMore: Work = (store) => chatIn(store).append({ role: 'user', content: 'One more.' })
const listed =
  (sort: 'activity' | 'begun'): Work =>
  async (store) => {
    for await (const _ of store.conversations({ sort }));
  }
/** Asks about a conversation that there is not, which the index answers when it knows all events. */
const indexed: Work = (store) =>
  store.catalogue.branches('other').catch((error: unknown) => {
    if (!isError(error, 'ConversationNotFound')) throw error
  })

/** Work before an operation, which is not measured. */
const preparations: Readonly<Record<string, Work>> = {
  'message indexed': oneMore,
  'list after an append': oneMore,
  'find after an append': oneMore,
  'summary indexed': (store) => chatIn(store).condense({ keepFirst: 1, keepLast: 2, summary: 'All of it.' }),
}
const operations: Readonly<Record<string, Work>> = {
  // What a loop takes that gives every turn as soon as the library does, on this machine.
  reference: async () => {
    for (const started = performance.now(); performance.now() - started < 1_000;) await breath()
  },
  // What it takes to keep what the rows say.
  rows: async (_, from) => {
    const db = new DatabaseSync(from)
    const page = db.prepare('SELECT * FROM events WHERE position > ? ORDER BY position LIMIT 256')
    const kept: unknown[] = []
    for (let last = 0; ; await breath()) {
      const rows = page.all(last)
      if (rows.length === 0) break
      for (const { id, type, data, metadata } of rows)
        kept.push({ id, type, data: JSON.parse(String(data)), metadata: JSON.parse(String(metadata)) })
      last = Number(rows.at(-1)?.['position'])
    }
    db.close()
    return kept
  },
  full: (store) => chatIn(store).full({ abandoned: true }),
  timeline: (store) => chatIn(store).timeline(),
  outline: (store) => store.catalogue.outline('bench'),
  overview: (store) => store.catalogue.overview('bench'),
  'message indexed': indexed,
  'summary indexed': indexed,
  'list after an append': listed('begun'),
  'find after an append': (store) => store.catalogue.find(),
  'find a word': (store) => store.catalogue.find({ q: '7777. The' }),
  'find what is everywhere': (store) => store.catalogue.find({ q: 'parser' }),
  'search for what is everywhere': (store) => store.catalogue.search('parser'),
  'list of many by activity': listed('activity'),
  'list of many as begun': listed('begun'),
  'find among many': (store) => store.catalogue.find(),
  'find among many what all have': (store) => store.catalogue.find({ q: 'conversation' }),
  condense: (store) => chatIn(store).condense({ summary: 'What was said.', keepFirst: 1, keepLast: 20 }),
  backup: (store, into) => store.backup(into),
  import: (store, from) =>
    store.importSession({ file: from, bytes: () => createReadStream(from, { highWaterMark: 256 * 1024 }) }),
}

const workSoFar = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const work = operations[what]
if (!work) throw new Error(`There is no operation ${what}.`)
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
// What is loaded and compiled for the first time is not the operation's own, and Node strips the types of each file as it loads it.
const warm = await openStore(`sqlite:${join(folder, 'warm.db')}`)
const session = join(folder, 'warm.json')
writeFileSync(session, JSON.stringify([{ role: 'user', content: 'Hello.' }]))
await chatIn(warm).append(Array.from({ length: 50 }, (_, n) => messageAt(n)))
await work(warm, what === 'import' ? session : join(folder, what === 'rows' ? 'warm.db' : 'backup.db'))
await warm.close()
rmSync(folder, { recursive: true })
const store = await openStore(url)
// Whoever asks the index for the first time compares its pages.
await store.catalogue.find({ limit: 1 })
await preparations[what]?.(store, file)
await sleep(200)
let [longest, turns, isOver] = [0, 0, false]
let before = workSoFar()
const look = (): void => {
  const now = workSoFar()
  longest = Math.max(longest, now - before)
  before = now
  turns++
  if (!isOver) setImmediate(look)
}
setImmediate(look)
const started = performance.now()
await work(store, file)
const took = performance.now() - started
isOver = true
await sleep(1)
await store.close()
process.stdout.write(JSON.stringify({ longest, took, turns }))
