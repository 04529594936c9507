// npm run bench:eventstoredb [-- --quick]: the adapter beside the raw client, on the server that PALIMPSEST_BENCH_ESDB names (a URL),
// else on the protocol server of the tests, in a process of its own. Prints the results; after a whole run writes them to
// RESULTS-eventstoredb.md.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client'
import { copyConversations, openStore, type Store } from '../src/index.ts'
import { buildConversation, shown } from './build.ts'
import { messageAt } from './messages.ts'
import { blobIn } from './parts/blob.ts'
import { frozenPart } from './parts/frozen.ts'
import { besidePlain } from './parts/sealed.ts'
import { inNewProcess } from './processes.ts'
import { atLeast, atMost, count, duration, headText, type PartResult, partText } from './report.ts'
import { roundTrips } from './round-trips.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from './rounds.ts'

const isQuick = process.argv.includes('--quick')
const external = process.env['PALIMPSEST_BENCH_ESDB']
const say = (text: string): void => void process.stderr.write(text)
const lengths = isQuick ? [1_000, 20_000] : [1_000, 1_000_000]
const parallel = 64

/** A server of the tests that already holds what is in these SQLite stores. */
const startServer = async (
  files: readonly string[],
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> => {
  const script = new URL('../test/support/eventstoredb/main.ts', import.meta.url).pathname
  const server = spawn(process.execPath, ['--max-old-space-size=6144', script, '0', ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(server.stdout, 'data')) as [Buffer]
  return {
    url: line.toString().trim(),
    stop: async () => {
      server.kill()
      await once(server, 'exit')
    },
  }
}

/** One message after the other: through the adapter, and through the client as one would write it by hand. */
const contenders = async (
  url: string,
  conversations: number,
  each: number,
): Promise<readonly (Contender & { readonly close: () => Promise<void> })[]> => {
  const store = await openStore(url)
  const client = EventStoreDBClient.connectionString(url)
  const run = randomUUID()
  /** The streams of one contender grow from round to round; the first round, which is not counted, begins them. */
  const growing = (append: (stream: string, n: number) => Promise<unknown>): (() => Promise<number>) => {
    let written = 0
    const appendAll = async (stream: string): Promise<void> => {
      for (let n = written; n < written + each; n++) await append(stream, n)
    }
    return async () => {
      const streams = Array.from({ length: conversations }, (_, index) => `${run}-${index}`)
      const time = await timed(() => Promise.all(streams.map(appendAll)))
      written += each
      return time / (conversations * each)
    }
  }
  return [
    {
      name: 'palimpsest',
      round: growing((id, n) => store.conversation(id).append(messageAt(n))),
      close: () => store.close(),
    },
    {
      name: 'raw client',
      round: growing((stream, n) => {
        const event = jsonEvent({ type: 'MessageAppended', data: messageAt(n) as never })
        const expectedRevision = n === 0 ? NO_STREAM : BigInt(n - 1)
        return client.appendToStream(`raw-${stream}`, event, { expectedRevision })
      }),
      close: () => client.dispose(),
    },
  ]
}

const appendPart = async (url: string, where: string): Promise<PartResult> => {
  const figures = []
  for (const [what, conversations, each] of [
    ['one at a time', 1, isQuick ? 100 : 400],
    [`${parallel} conversations at once`, parallel, isQuick ? 8 : 40],
  ] as const) {
    say(`append, ${what} …\n`)
    const both = await contenders(url, conversations, each)
    const times = await alternate(both, isQuick ? 5 : 21)
    for (const { close } of both) await close()
    figures.push(
      { what: `palimpsest, ${what}`, figure: duration(timeOf(times, 'palimpsest')) },
      { what: `raw client, ${what}`, figure: duration(timeOf(times, 'raw client')) },
      atLeast(`speed beside the raw client, ${what}`, ratioOf(times, 'raw client', 'palimpsest'), 0.95),
    )
  }
  return {
    title: 'Append: 1 KB messages at the exact revision',
    figures,
    notes: [`Server: ${where}. The raw client appends the message alone, with its default settings.`],
  }
}

const loadPart = async (url: string, ids: readonly string[]): Promise<PartResult> => {
  const rounds = isQuick ? 20 : 100
  const loads = ids.map((id, index): Contender => ({
    name: count(lengths[index] ?? 0),
    round: async () => {
      const store = await openStore(url)
      const time = await timed(async () => {
        const items = await store.conversation(id).effective()
        if (items.length !== shown) throw new Error(`${items.length} items are shown, not ${shown}`)
      })
      await store.close()
      return time
    },
  }))
  const times = await alternate(loads, rounds)
  const [short = '', long = ''] = loads.map(({ name }) => name)
  return {
    title: `Load: effective history of ${shown} items`,
    figures: [
      { what: `${short} events`, figure: duration(timeOf(times, short)) },
      { what: `${long} events`, figure: duration(timeOf(times, long)) },
      atMost('the longer beside the shorter', ratioOf(times, long, short), 1.5),
      atMost(
        'round trips, one after the other',
        await roundTrips(`sqlite:${join(folder, `${ids[1]}.db`)}`, ids[1] ?? ''),
        4,
        count,
      ),
    ],
    notes: [
      'Each load is by a store that was just opened and has asked nothing yet. Round trips: reads that wait for the answer of another; those that go out together are one.',
    ],
  }
}

const listed = isQuick ? 200 : 2_000
const page = 50

/** A list of conversations in a database that is mostly somebody else's. */
const listPart = async (url: string, others: string): Promise<PartResult> => {
  say(`list, ${count(listed)} conversations …\n`)
  const writer = await openStore(url)
  const messages = [0, 1, 2].map(messageAt)
  for (let n = 0; n < listed; n += parallel)
    await Promise.all(
      Array.from({ length: Math.min(parallel, listed - n) }, (_, index) =>
        writer.conversation(`list-${n + index}`).append(messages),
      ),
    )
  await writer.close()
  const list = async (store: Store, most = Infinity): Promise<number> => {
    let seen = 0
    const time = await timed(async () => {
      for await (const _ of store.conversations()) if (++seen >= most) break
    })
    if (seen < Math.min(most, listed)) throw new Error(`${seen} conversations are listed`)
    return time
  }
  const inNewStore = async (run: (store: Store) => Promise<number>): Promise<number> => {
    const store = await openStore(url)
    return run(store).finally(() => store.close())
  }
  const first = await inNewStore(list)
  const contender = (name: string, run: (store: Store) => Promise<number>): Contender => ({
    name,
    round: () => inNewStore(run),
  })
  const times = await alternate(
    [
      contender('page', (store) => list(store, page)),
      contender('all', list),
      contender('again', async (store) => {
        await list(store)
        return list(store)
      }),
    ],
    isQuick ? 3 : 11,
  )
  return {
    title: `List: ${count(listed)} conversations among ${others}`,
    figures: [
      { what: 'the first list ever, which looks through all events', figure: duration(first) },
      atMost(`the first ${page}`, timeOf(times, 'page'), 100, duration),
      atMost('all', timeOf(times, 'all'), 1_000, duration),
      atMost('all, again in the same process', timeOf(times, 'again'), 100, duration),
    ],
    notes: ['Each list but the last is by a store that was just opened and has asked nothing yet.'],
  }
}

/** Encrypted content, on a server of its own: whoever opens a sealed store without its keys begins no conversation. */
const sealedPart = async (): Promise<PartResult> => {
  say('encrypted content …\n')
  const server = await startServer([])
  try {
    const plain = await openStore(server.url)
    await plain.conversation('plain').append(messageAt(0))
    const sealed = await openStore(server.url, { seal: join(folder, 'keys.db') })
    return await besidePlain({ plain, sealed }, 'on the protocol server of the tests', isQuick)
  } finally {
    await server.stop()
  }
}

const memoryPart = async (url: string, ids: readonly string[]): Promise<PartResult> => {
  const child = new URL('children/memory-remote.ts', import.meta.url)
  const smallHeap = ['--max-old-space-size=64', '--max-semi-space-size=8']
  const peaks: number[] = []
  for (const id of ids) {
    say(`memory, ${id} …\n`)
    peaks.push(((await inNewProcess(child, [url, id], smallHeap)) as { readonly peak: number }).peak)
  }
  const [short = Number.NaN, long = Number.NaN] = peaks
  return {
    title: 'Memory: a conversation exported',
    figures: [
      { what: `${count(lengths[0] ?? 0)} events`, figure: `${short.toFixed(0)} MiB` },
      { what: `${count(lengths[1] ?? 0)} events`, figure: `${long.toFixed(0)} MiB` },
      atMost('the longer beside the shorter', long / short, 1.3),
    ],
    notes: [
      'Peak resident memory of a process that makes JSON of every event, with a heap of at most 64 MiB.',
    ],
  }
}

const loadBefore = loadavg()
const reports = new URL('../reports/', import.meta.url).pathname
await mkdir(reports, { recursive: true })
const folder = await mkdtemp(join(reports, 'bench-esdb-'))
let stop = async (): Promise<void> => undefined
try {
  const ids: string[] = []
  for (const length of lengths) {
    say(`building a conversation of ${count(length)} events …\n`)
    ids.push(`bench-${length}`)
    await buildConversation(join(folder, `bench-${length}.db`), length, `bench-${length}`)
  }
  const files = ids.map((id) => join(folder, `${id}.db`))
  let url = external
  if (url === undefined) ({ url, stop } = await startServer(files))
  else
    for (const [index, file] of files.entries())
      await copyConversations({ from: `sqlite:${file}`, to: url, ids: ids.slice(index, index + 1) })
  const where = external === undefined ? 'the protocol server of the tests, on this machine' : 'by URL'
  const remote = url
  const others = isQuick ? 50_000 : 1_000_000
  const shared = external === undefined ? await startServer([`--others=${others}`]) : undefined
  const among = shared ? `${count(others)} events of others` : 'what the server holds'
  const listText = partText(
    await listPart(shared?.url ?? url, among).finally(() => shared?.stop() ?? Promise.resolve()),
  )
  say('a frozen node, large content …\n')
  const texts = [
    partText(await appendPart(url, where)),
    partText(await loadPart(url, ids)),
    partText(await frozenPart(url, ids[0] ?? '', isQuick)),
    listText,
    partText(await memoryPart(url, ids)),
    partText(await sealedPart()),
    partText(await blobIn('EventStoreDB', () => remote, isQuick)),
  ]
  const text = `${[headText(loadBefore), ...texts].join('\n\n')}\n`
  process.stdout.write(text)
  if (!isQuick) await writeFile(new URL('RESULTS-eventstoredb.md', import.meta.url), text)
} finally {
  await stop()
  await rm(folder, { recursive: true, force: true })
}
