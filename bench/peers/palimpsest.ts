import { join } from 'node:path'
import type * as Library from '../../src/index.ts'
import type { Peer } from './peer.ts'

/** The library to measure: the module that the environment names, the sources if it names none. */
const { openStore } = (await import(process.env['PALIMPSEST'] ?? '../../src/index.ts')) as typeof Library

export const peer = (variant = 'full'): Peer => {
  const synchronous = variant || 'full'
  let end = -1
  return {
    name: synchronous === 'full' ? 'palimpsest' : `palimpsest, synchronous=${synchronous}`,
    durable: synchronous === 'full',
    open: async (folder) => {
      const file = `sqlite:${join(folder, 'palimpsest.db')}?synchronous=${synchronous}`
      const store = await openStore(process.env['PALIMPSEST_BENCH_STORE'] ?? file)
      const chat = store.conversation('bench')
      return {
        append: async (messages) => {
          for (const message of messages) end = (await chat.append(message)).position
        },
        seed: async (messages) => {
          end = (await chat.append(messages)).position
        },
        last: (count) => collected(chat.events({ from: end - count + 1 })),
        all: () => chat.full(),
        compact: async (summary, keepLast) => {
          await chat.condense({ summary, keepFirst: 0, keepLast })
        },
        effective: () => chat.effective(),
        close: () => store.close(),
      }
    },
  }
}

const collected = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const all: A[] = []
  for await (const item of items) all.push(item)
  return all
}
