import { join } from 'node:path'
import { openEvents } from '../../src/api/open.ts'
import { openStore } from '../../src/index.ts'
import { orThrow } from '../../src/result/fallible.ts'
import { buildConversation, shown } from '../build.ts'
import { onPostgres } from '../durable-postgres.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { roundTrips } from '../round-trips.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'

/** Copies the events of a file as they are. */
const copyEvents = async (file: string, url: string): Promise<void> => {
  const [from, to] = [await orThrow(openEvents(`sqlite:${file}`)), await orThrow(openEvents(url))]
  const ends = new Map<string, number>()
  for (let after: string | undefined; ;) {
    const { events, checkpoint } = await orThrow(from.readAll({ after, limit: 1_000 }))
    const streams = Map.groupBy(events, ({ stream }) => stream)
    for (const [stream, own] of streams) {
      const expected = ends.get(stream) ?? -1
      ends.set(stream, expected + own.length)
      const bare = own.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }))
      await orThrow(to.append({ stream, events: bare, expected, repeat: 'none' }))
    }
    if (events.length === 0) break
    after = checkpoint
  }
  await from.close()()
  await to.close()()
}

/** The effective history of 50 items, of a short conversation and of a long one. */
export const postgresLoad = (folder: string, isQuick: boolean): Promise<PartResult> =>
  onPostgres(async (server) => {
    const url = server.url()
    const lengths = isQuick ? [1_000, 20_000] : [1_000, 1_000_000]
    for (const length of lengths) {
      process.stderr.write(`  building a conversation of ${count(length)} events\n`)
      const file = join(folder, `${length}.db`)
      await buildConversation(file, length, `bench-${length}`)
      await copyEvents(file, url)
    }
    const loads = lengths.map((length): Contender => ({
      name: count(length),
      round: async () => {
        const store = await openStore(url)
        await store
          .conversation('none')
          .effective()
          .catch(() => [])
        const time = await timed(async () => {
          const items = await store.conversation(`bench-${length}`).effective()
          if (items.length !== shown) throw new Error(`${items.length} items are shown, not ${shown}`)
        })
        await store.close()
        return time
      },
    }))
    const taken = await alternate(loads, isQuick ? 20 : 100)
    const [short = '', long = ''] = loads.map(({ name }) => name)
    return {
      title: `Load: effective history of ${shown} items`,
      figures: [
        { what: `of ${short} events`, figure: duration(timeOf(taken, short)) },
        { what: `of ${long} events`, figure: duration(timeOf(taken, long)) },
        atMost('the longer beside the shorter', ratioOf(taken, long, short), 1.5),
        atMost('reads, one after the other', await roundTrips(url, `bench-${lengths[1]}`), 3, count),
      ],
      notes: [
        'Both conversations are in one store. Each load is by a store that has only connected before. Reads that go out together are one.',
      ],
    }
  })
