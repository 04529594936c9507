import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { palimpsestLine } from '../../src/transfer/formats/write-palimpsest.ts'
import { openStore, type Conversation, type Store } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type PartResult, times } from '../report.ts'
import { median, timed } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const interval = 10
const bound = 20

/** How late a timer is at worst while something is done, and how long that takes, in milliseconds. */
interface Pause {
  readonly what: string
  readonly late: number
  /** The most that the thread worked from one timer to the next: what is late on a machine that does nothing else. */
  readonly worked: number
  readonly took: number
}

/** How late timers are while a large store is read and written: each operation in a process that has other things to do. */
export const pauses = async ({ folder, isQuick, say }: Setting): Promise<PartResult> => {
  const messages = isQuick ? 10_000 : 100_000
  const url = `sqlite:${join(folder, 'large.db')}?synchronous=off`
  const store = await openStore(url)
  const chat = store.conversation('large')
  for (let written = 0; written < messages; written += 500)
    await chat.append(Array.from({ length: 500 }, (_, index) => messageAt(written + index)))
  for (let n = 0; n < 1_000; n++) await store.conversation(`small-${n}`).append(messageAt(n))
  const { text, bytes } = await exportOf(chat)
  const rows: Pause[] = []
  for (const [what, run] of operations(store, chat)) {
    say(`  ${what}\n`)
    rows.push(await pauseOf(what, isQuick ? 1 : 3, run))
  }
  // The bench runs the sources, whose types Node strips as the importer loads, for 40 ms; the published importer loads in 10.
  await store.importSession({ text: JSON.stringify({ messages: [messageAt(0)] }), file: 'small.json' })
  await store.close()
  say('  import\n')
  let waited = 0
  const target = join(folder, 'target.db')
  rows.push(
    await pauseOf('import', 1, async () => {
      waited = await longestWait(target, async (imported) => {
        await imported.importSession({ text, file: 'large.jsonl' })
      })
    }),
  )
  say('  import of a JSON document\n')
  const document = JSON.stringify({ messages: Array.from({ length: messages }, (_, n) => messageAt(n)) })
  rows.push(
    await pauseOf('import of a JSON document', 1, async () => {
      const into = await openStore(`sqlite:${join(folder, 'document.db')}`)
      await into.importSession({ text: document, file: 'document.json' })
      await into.close()
    }),
  )
  await rewound(500)
  const few = await rewound(isQuick ? 500 : 2_200)
  const many = await rewound(isQuick ? 2_000 : 8_800)
  return {
    title: `Pauses: a timer of ${interval} ms while ${count(messages)} messages of 1 KB are read`,
    figures: [
      ...rows.map(({ what, late }) => atMost(`${what}: latest`, late, bound, duration)),
      atMost('import: longest wait of another writer', waited, 100, duration),
      atMost('verify: four times the events and rewinds', many / few, 6, times),
    ],
    table: {
      head: ['operation', 'takes', 'worked at most from one timer to the next'],
      rows: rows.map(({ what, took, worked }) => [what, duration(took), duration(worked)]),
    },
    notes: [
      `Late is what comes on top of the ${interval} ms, the worst of the whole operation; an operation that is done several times shows the median of its worst. The import is of Palimpsest JSONL, ${count(Math.round(bytes / 1e6))} MB; meanwhile another connection appends a message every ${interval} ms. A small session was imported before, so that the importer is loaded.`,
      'The table says how long the thread itself worked from one timer to the next at most: that is what is late on a machine with nothing else to do.',
    ],
  }
}

const operations = (
  store: Store,
  chat: Conversation,
): readonly (readonly [string, () => Promise<unknown>])[] => [
  ['verify', () => chat.verify()],
  ['check of the file', () => store.check()],
  ['events', () => all(chat.events())],
  ['stored', () => all(chat.stored())],
  ['readAll', () => all(store.readAll())],
  ['effective', () => chat.effective()],
  ['full', () => chat.full()],
  ['timeline', () => chat.timeline()],
  ['render', () => chat.render()],
  ['list', () => all(store.conversations({ sort: 'id' }))],
]

const all = async (items: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of items);
}

const pauseOf = async (what: string, rounds: number, run: () => Promise<unknown>): Promise<Pause> => {
  const found: Pause[] = []
  for (let round = 0; round < rounds; round++) {
    // What the one before left behind is not this one's.
    await sleep(100)
    let [late, worked] = [0, 0]
    let [last, work] = [performance.now(), workSoFar()]
    const look = (): void => {
      const [now, done] = [performance.now(), workSoFar()]
      late = Math.max(late, now - last - interval)
      worked = Math.max(worked, done - work)
      last = now
      work = done
    }
    const timer = setInterval(look, interval)
    const took = await timed(run)
    look()
    clearInterval(timer)
    found.push({ what, late, worked, took })
  }
  const of = (value: (pause: Pause) => number): number => median(found.map(value))
  return {
    what,
    late: of(({ late }) => late),
    worked: of(({ worked }) => worked),
    took: of(({ took }) => took),
  }
}

/** Milliseconds that this thread has worked so far. */
const workSoFar = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const exportOf = async (chat: Conversation): Promise<{ readonly text: string; readonly bytes: number }> => {
  const lines: string[] = []
  for await (const event of chat.stored()) lines.push(palimpsestLine(event))
  const text = lines.join('\n')
  return { text, bytes: Buffer.byteLength(text) }
}

/** The longest wait of a writer who appends to another conversation of the file while something is done. */
const longestWait = async (file: string, work: (store: Store) => Promise<void>): Promise<number> => {
  const [store, other] = [await openStore(`sqlite:${file}`), await openStore(`sqlite:${file}`)]
  let isOver = false
  let longest = 0
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      longest = Math.max(longest, await timed(() => other.conversation('other').append(messageAt(n))))
      await sleep(interval)
    }
  })()
  await work(store)
  isOver = true
  await writing
  await store.close()
  await other.close()
  return longest
}

/** How long it takes to verify a conversation that goes back after every second message. */
const rewound = async (messages: number): Promise<number> => {
  const store = await openStore('memory:')
  const chat = store.conversation('rewound')
  for (let n = 0; n < messages; n++) {
    const { position } = await chat.append([messageAt(n, 64), messageAt(n, 64)])
    await chat.rewind({ to: position - 1 })
  }
  const rounds: number[] = []
  for (let round = 0; round < 5; round++) rounds.push(await timed(() => chat.verify()))
  return median(rounds)
}
