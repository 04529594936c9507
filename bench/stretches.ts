import { fork } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEvents } from '../src/api/open.ts'
import { openStore, type Store } from '../src/index.ts'
import { orThrow } from '../src/result/steps.ts'
import { longLog } from './long-log.ts'
import { fillConversations } from './many-conversations.ts'

// How long operations keep a process from everything else: the longest stretch that its thread works between two turns of the loop, each
// in five fresh processes, beside a loop of known work.
//
//   node bench/stretches.ts [--folder FOLDER] [--quick] [part of a name…]

/** An operation on a store with one very long conversation, `long`, or on one with very many. */
interface Operation {
  readonly name: string
  readonly store: 'long' | 'many'
  /** What is done before, and not measured. */
  readonly before?: (store: Store) => Promise<unknown>
  readonly run: (store: Store) => Promise<unknown>
}

const say = (store: Store): Promise<unknown> =>
  store.conversation('long').append({ role: 'user', content: 'One more.' })

const all = async (items: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of items);
}

/** Whoever asks for the first time compares the pages of the index: that is not measured. */
const asked = (store: Store): Promise<unknown> => store.catalogue.find({ limit: 1 })

const operations: readonly Operation[] = [
  {
    name: 'one more message is indexed',
    store: 'long',
    before: async (store) => {
      await asked(store)
      await say(store)
    },
    run: (store) => store.catalogue.branches('other'),
  },
  {
    name: 'one more summary is indexed',
    store: 'long',
    before: async (store) => {
      await asked(store)
      await say(store)
      await store.conversation('long').condense({ keepFirst: 1, keepLast: 2, summary: 'All of it.' })
    },
    run: (store) => store.catalogue.branches('other'),
  },
  {
    name: 'list after an append',
    store: 'long',
    before: async (store) => {
      await all(store.conversations())
      await say(store)
    },
    run: (store) => all(store.conversations()),
  },
  { name: 'list, the first time', store: 'long', run: (store) => all(store.conversations()) },
  {
    name: 'find after an append',
    store: 'long',
    before: async (store) => {
      await asked(store)
      await say(store)
    },
    run: (store) => store.catalogue.find(),
  },
  {
    name: 'find a word',
    store: 'long',
    before: asked,
    run: (store) => store.catalogue.find({ q: 'ticket 7.' }),
  },
  {
    name: 'find what is everywhere',
    store: 'long',
    before: asked,
    run: (store) => store.catalogue.find({ q: 'the' }),
  },
  {
    name: 'search for what is everywhere',
    store: 'long',
    before: asked,
    run: (store) => store.catalogue.search('the'),
  },
  { name: 'list of many as they were begun', store: 'many', run: (store) => all(store.conversations()) },
  {
    name: 'list of many by activity',
    store: 'many',
    before: asked,
    run: (store) => all(store.conversations({ sort: 'activity' })),
  },
  { name: 'find among many', store: 'many', before: asked, run: (store) => store.catalogue.find() },
  {
    name: 'find what is everywhere among many',
    store: 'many',
    before: asked,
    run: (store) => store.catalogue.find({ q: 'conversation' }),
  },
]

/** What one process found, in milliseconds of its thread's work, and the megabytes that it grew by. */
interface Found {
  readonly longest: number
  readonly reference: number
  readonly all: number
  readonly megabytes: number
}

const workSoFar = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** The longest stretch of work between two turns of the loop while something is done. */
const longestOf = async (run: () => Promise<unknown>): Promise<number> => {
  let longest = 0
  let last = workSoFar()
  let isOver = false
  const turn = (): void => {
    const now = workSoFar()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await run()
  isOver = true
  turn()
  return longest
}

/** A loop that does the same work everywhere: what it takes says how fast the machine is just now. */
const reference = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve))
  for (let n = 0, state = 1; n < 5_000_000; n++) state = Math.imul(state, 1_664_525) + 1_013_904_223
}

const measured = async ({ before, run }: Operation, url: string): Promise<Found> => {
  const store = await openStore(url)
  await before?.(store)
  globalThis.gc?.()
  const [began, memory] = [workSoFar(), process.memoryUsage().rss]
  const longest = await longestOf(() => run(store))
  const [took, grown] = [workSoFar() - began, process.memoryUsage().rss - memory]
  await store.close()
  return { longest, reference: await longestOf(reference), all: took, megabytes: grown / 1e6 }
}

const inFreshProcess = (name: string, url: string): Promise<Found> =>
  new Promise((resolve, reject) => {
    const child = fork(import.meta.filename, ['--one', name, url], { execArgv: ['--expose-gc'] })
    child.once('message', (found) => resolve(found as Found))
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
  })

const middle = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0

const build = async (folder: string, events: number, conversations: number) => {
  const urlOf = (name: string): string => `sqlite:${join(folder, `${name}.db`)}?synchronous=off`
  const isThere = existsSync(join(folder, 'long.db'))
  if (!isThere) {
    const store = await openStore(urlOf('long'))
    await longLog(store.conversation('long')).growTo(events)
    await store.conversation('other').append({ role: 'user', content: 'Hello.' })
    await store.close()
    const many = await orThrow(openEvents(urlOf('many')))
    await fillConversations(many, { conversations, messages: 4, length: 100 })
    await many.close()()
  }
  for (const url of [urlOf('long'), urlOf('many')]) {
    const store = await openStore(url)
    while (!(await store.catalogue.find({ limit: 1 })).isComplete);
    await store.close()
  }
  return urlOf
}

const main = async (args: readonly string[]): Promise<void> => {
  const isQuick = args.includes('--quick')
  const at = args.indexOf('--folder')
  const named = at < 0 ? undefined : args[at + 1]
  const parts = args.filter((arg, index) => !arg.startsWith('--') && (at < 0 || index !== at + 1))
  const folder = named ?? mkdtempSync(join(tmpdir(), 'palimpsest-stretches-'))
  try {
    const urlOf = await build(folder, isQuick ? 20_000 : 1_000_000, isQuick ? 2_000 : 100_000)
    process.stdout.write('operation\tlongest stretch\treference loop\tall\tMB\n')
    for (const { name, store } of operations) {
      if (parts.length > 0 && !parts.some((part) => name.includes(part))) continue
      const found: Found[] = []
      for (let n = 0; n < 5; n++) found.push(await inFreshProcess(name, urlOf(store)))
      const figures = (['longest', 'reference', 'all', 'megabytes'] as const).map((key) =>
        middle(found.map((one) => one[key])).toFixed(1),
      )
      process.stdout.write(`${[name, ...figures].join('\t')}\n`)
    }
  } finally {
    if (named === undefined) rmSync(folder, { recursive: true })
  }
}

const [flag, name, url = ''] = process.argv.slice(2)
const one = flag === '--one' ? operations.find((operation) => operation.name === name) : undefined
if (one) process.send?.(await measured(one, url))
else await main(process.argv.slice(2))
