import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore, type Store } from '../../src/index.ts'
import { eventStoreDb } from '../../test/support/eventstoredb/server.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'
import { atMost, duration, type Figure, type PartResult } from '../report.ts'
import { clock, clockOf, startWorker } from '../worker-processes.ts'

/** Tells whoever waits for it when a conversation's model is called: nothing else runs meanwhile, as the server is in this process. */
interface Calls {
  readonly called: (conversation: string, at: number) => void
  /** The time of the next call. */
  readonly next: (conversation: string) => Promise<number>
}

const newCalls = (): Calls => {
  const waiting = new Map<string, (at: number) => void>()
  return {
    called: (conversation, at) => waiting.get(conversation)?.(at),
    next: (conversation) => new Promise((resolve) => waiting.set(conversation, resolve)),
  }
}

/** Workers on a store, and how they are stopped. */
interface Place {
  readonly store: Store
  readonly calls: Calls
  readonly close: () => Promise<void>
}

/** How long an idle worker takes from when somebody begins to append a request to when its model is called. */
export const pickup = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const steps = isQuick ? 50 : 400
  const places = [
    { name: 'memory, one process', place: inMemory, bars: [10, 50] },
    { name: 'SQLite, two worker processes', place: () => onFile(join(folder, 'pickup.db')), bars: [15, 50] },
    { name: 'EventStoreDB (in-process server), two worker processes', place: onServer, bars: [10, 50] },
  ] as const
  const figures: Figure[] = []
  for (const { name, place, bars } of places)
    figures.push(...(await pickupFigures(name, await place(), steps, bars)))
  return {
    title: pickupTitle,
    figures,
    notes: [
      pickupNote(steps),
      'The study measured Graphile Worker 5 and 12 ms, BullMQ 8 and 14 ms, pg-boss 68 and 195 ms.',
    ],
  }
}

const at = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN

export const pickupTitle = 'Pickup: from the call of append to the call of the model, workers idle'
export const pickupNote = (steps: number): string =>
  `${steps} requests at random, some 40 ms apart, in turn to a conversation that nobody has served and to one that has been. The append of the request itself is included.`

/** Measures a place and closes it. The bars of p50 and p99 are in milliseconds. */
export const pickupFigures = async (
  name: string,
  place: Place,
  steps: number,
  bars: readonly [p50: number, p99: number],
): Promise<readonly Figure[]> => {
  const { asked, opened } = await timesAt(place, steps)
  return [
    atMost(`${name}: p50`, at(asked, 0.5), bars[0], duration),
    atMost(`${name}: p99`, at(asked, 0.99), bars[1], duration),
    {
      what: 'of that, after the append has returned: p50 / p99',
      figure: `${duration(at(opened, 0.5))} / ${duration(at(opened, 0.99))}`,
    },
  ]
}

/** Until the model was called: from the call of append, and from its answer. */
interface Times {
  readonly asked: readonly number[]
  readonly opened: readonly number[]
}

const timesAt = async ({ store, calls, close }: Place, steps: number): Promise<Times> => {
  const asked: number[] = []
  const opened: number[] = []
  const warmUp = 200
  for (let step = -warmUp; step < steps; step++) {
    const id = step % 2 === 0 ? `new-${step}` : `old-${(step + warmUp) % 20}`
    const chat = store.conversation(id)
    const call = calls.next(id)
    const before = clock()
    await chat.append(messageAt(0), { answer: true })
    const after = clock()
    const called = await call
    if (step >= 0) asked.push(called - before)
    if (step >= 0) opened.push(Math.max(0, called - after))
    await sleep(step < 0 ? 1 : 20 + Math.random() * 40)
  }
  await close()
  return { asked, opened }
}

const inMemory = async (): Promise<Place> => {
  const store = await openStore('memory:')
  const calls = newCalls()
  const ends = new AbortController()
  const running = store
    .worker({
      turn: ({ id }) => {
        const called = (): undefined => {
          calls.called(id, clock())
        }
        return { ...turnOptions, client: instantClient(0, 1, called).client }
      },
    })
    .run({ signal: ends.signal })
  return {
    store,
    calls,
    close: async () => {
      ends.abort()
      await running
      await store.close()
    },
  }
}

const onFile = (file: string): Promise<Place> => withProcesses(`sqlite:${file}`)

const onServer = async (): Promise<Place> => {
  const server = await eventStoreDb()
  const place = await withProcesses(server.url)
  return {
    ...place,
    close: async () => {
      await place.close()
      await server.close()
    },
  }
}

/** Two worker processes on a store. */
export const withProcesses = async (url: string): Promise<Place> => {
  const store = await openStore(url)
  const calls = newCalls()
  const workers = await Promise.all(
    [0, 1].map(() =>
      startWorker(url, (said) => {
        if (said.type === 'call') calls.called(said.conversation, clockOf(said.at))
      }),
    ),
  )
  return {
    store,
    calls,
    close: async () => {
      for (const { stop } of workers) await stop()
      await store.close()
    },
  }
}
