import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEvents } from '../../src/api/open.ts'
import { nodeFlags } from '../../src/cli/work/node-flags.ts'
import { orThrow } from '../../src/result/fallible.ts'
import type { EventStore } from '../../src/store/port.ts'
import { fillOldStore } from '../../test/support/workers/old-store.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { fillServedStore } from '../served-store.ts'
import { clock, clockOf, type Memory, startWorker } from '../worker-processes.ts'

const hour = 3_600_000
const slots = 8
const mebibytes = (value: number): string => `${value.toFixed(0)} MiB`

/** Workers on stores with very many conversations that nobody is concerned with any more. */
export const large = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const [served, open, old] = [100_000, 1_000, isQuick ? 50_000 : 1_000_000]
  const empty = await filled(join(folder, 'empty.db'), (store) =>
    fillServedStore(store, { served: 0, open: slots }),
  )
  const full = await filled(join(folder, 'full.db'), (store) => fillServedStore(store, { served, open }))
  const [without, all, settled] = [await memoryAt(empty), await memoryAt(full), await memoryAt(full)]
  const years = await filled(join(folder, 'old.db'), (store) => fillOldStore(store, { old, open: 50 }))
  const first = await startAt(years, true)
  const second = await startAt(years, false)
  const more = `more with ${count(served)} idle conversations that were answered and ${count(open)} open steps`
  return {
    title: 'Large stores: memory and start of a worker',
    figures: [
      {
        what: 'resident memory of a worker whose slots are all busy, nothing else in the store',
        figure: mebibytes(without.resident),
      },
      atMost(`${more}, after it has read everything`, all.resident - without.resident, 150, mebibytes),
      { what: 'of that in the heap', figure: mebibytes(all.heap - without.heap) },
      atMost(
        `${more}, if it begins with what is settled`,
        settled.resident - without.resident,
        150,
        mebibytes,
      ),
      {
        what: `the first worker of all on ${count(old)} old conversations: until it calls the model`,
        figure: duration(first),
      },
      atMost('the next one, which begins with what is settled', second, 2_000, duration),
    ],
    notes: [
      `SQLite, messages of 1 KB. Memory after a garbage collection, ${nodeFlags.join(' ')}, as \`palimpsest work\` starts its processes. The time is from where the process has loaded the library and opened the store until its first call of the model.`,
    ],
  }
}

const filled = async (file: string, fill: (store: EventStore) => Promise<void>): Promise<string> => {
  const store = await orThrow(openEvents(`sqlite:${file}?synchronous=off`))
  await fill(store)
  await store.close()()
  return `sqlite:${file}`
}

const memoryAt = async (url: string): Promise<Memory> => {
  let calls = 0
  const worker = await startWorker(
    url,
    (said) => {
      if (said.type === 'call') calls++
    },
    { slots, ms: hour },
  )
  while (calls < slots) await sleep(5)
  await sleep(3_000)
  const memory = await worker.memory()
  await worker.stop()
  return memory
}

/** @param settles whether to wait until the worker has had the time to settle what it has read */
const startAt = async (url: string, settles: boolean): Promise<number> => {
  let called: number | undefined
  let began = clock()
  const worker = await startWorker(
    url,
    (said) => {
      if (said.type === 'started') began = clock()
      if (said.type === 'call') called ??= clockOf(said.at)
    },
    { slots: 1, ms: hour },
  )
  while (called === undefined) await sleep(5)
  if (settles) await sleep(3_000)
  await worker.stop()
  return called - began
}
