import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { openEvents } from '../../src/api/open.ts'
import type { EventStore } from '../../src/store/port.ts'
import { fillOldStore } from '../../test/support/workers/old-store.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { clock, clockOf, startWorker } from '../worker-processes.ts'

const hour = 3_600_000
const slots = 8
const mebibytes = (value: number): string => `${value.toFixed(0)} MiB`

/** Workers on stores with very many conversations that nobody is concerned with any more. */
export const large = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const [idle, open, old] = isQuick ? [10_000, 1_000, 50_000] : [100_000, 1_000, 1_000_000]
  const empty = await filled(join(folder, 'empty.db'), slots, slots)
  const full = await filled(join(folder, 'full.db'), idle, open)
  const [without, withAll] = [await memoryAt(empty), await memoryAt(full)]
  const years = await filled(join(folder, 'old.db'), old, 50)
  const first = await startAt(years, true)
  const second = await startAt(years, false)
  return {
    title: 'Large stores: memory and start of a worker',
    figures: [
      {
        what: 'resident memory of a worker whose slots are all busy, nothing else in the store',
        figure: mebibytes(without),
      },
      atMost(
        `more with ${count(idle)} idle conversations and ${count(open)} open steps`,
        withAll - without,
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
      'SQLite. Memory after a garbage collection. The time is from where the process has loaded the library and opened the store until its first call of the model.',
    ],
  }
}

const filled = async (file: string, old: number, open: number): Promise<string> => {
  const store = await eventsAt(`sqlite:${file}?synchronous=off`)
  await fillOldStore(store, { old, open })
  await store.close()()
  return `sqlite:${file}`
}

const eventsAt = async (url: string): Promise<EventStore> => {
  const opened = await openEvents(url)()
  if (E.isLeft(opened)) throw new Error(opened.left.message)
  return opened.right
}

const memoryAt = async (url: string): Promise<number> => {
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
