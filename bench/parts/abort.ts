import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEvents, storeOn } from '../../src/api/open.ts'
import { openStore } from '../../src/index.ts'
import { orThrow, run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { eventStoreDb } from '../../test/support/eventstoredb/server.ts'
import { heldWorker, type HeldSaid } from '../held-worker.ts'
import { messageAt } from '../messages.ts'
import { duration, type Figure, type PartResult } from '../report.ts'
import { clock, clockOf } from '../worker-processes.ts'

/** Milliseconds within which 99 of 100 have to be aborted. */
const bar = 50

/** When the work of each conversation began and ended. */
interface Seen {
  readonly begun: Map<string, number>
  readonly ended: Map<string, number>
}

/** Somebody else's doings, and a worker whose turns last until they are ended. */
interface Place {
  readonly ask: (id: string) => Promise<unknown>
  readonly rewind: (id: string) => Promise<unknown>
  /** Another worker claims the conversation. */
  readonly claim: (id: string) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** How soon work ends that has become useless, from when somebody begins to record why. */
export const abort = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const samples = isQuick ? 30 : 300
  const figures: Figure[] = []
  const seen: Seen = { begun: new Map(), ended: new Map() }
  const api = await hangingApi(seen)
  const server = await eventStoreDb()
  const places = [
    ['memory', await inMemory(api.url, seen)],
    ['SQLite, another process', await inProcess(`sqlite:${join(folder, 'abort.db')}`, api.url, seen)],
    ['the in-process server, another process', await inProcess(server.url, api.url, seen)],
  ] as const
  for (const [name, place] of places) {
    const { rewind, claim } = place
    for (const [what, kind, does] of [
      ['the connection to the model is closed after a rewind', 'model', rewind],
      ['the signal of a tool aborts after a rewind', 'tool', rewind],
      ["the connection to the model is closed after another's claim", 'claimed', claim],
    ] as const)
      figures.push(figureOf(`${name}: ${what}`, await timesOf(place, seen, { kind, does, samples })))
    await place.close()
  }
  await server.close()
  await api.close()
  return {
    title: 'Abort: from the call that records a rewind, or a claim, until the worker has ended what it did',
    figures,
    notes: [
      `${samples} times each, p50 / p99. The append of the rewind or the claim is included. The model's side sees the connection closed; tools are told by their signal.`,
    ],
  }
}

const figureOf = (what: string, times: readonly number[]): Figure => {
  const at = (share: number): string => duration(times[Math.floor(times.length * share)] ?? Number.NaN)
  const within = times.filter((time) => time <= bar).length / times.length
  return {
    what,
    figure: `${at(0.5)} / ${at(0.99)}, ${(within * 100).toFixed(1)} % within ${bar} ms`,
    target: `≥ 99 % within ${bar} ms`,
    isMet: within >= 0.99,
  }
}

interface Doing {
  readonly kind: string
  readonly does: (id: string) => Promise<unknown>
  readonly samples: number
}

const warmUp = 20

const timesOf = async (
  { ask }: Place,
  { begun, ended }: Seen,
  { kind, does, samples }: Doing,
): Promise<readonly number[]> => {
  const times: number[] = []
  for (let sample = -warmUp; sample < samples; sample++) {
    const id = `${kind}-${sample}`
    begun.delete(id)
    ended.delete(id)
    await ask(id)
    while (!begun.has(id)) await sleep(1)
    await sleep(20 + Math.random() * 20)
    const began = clock()
    await does(id)
    while (!ended.has(id)) await sleep(1)
    if (sample >= 0) times.push((ended.get(id) ?? Number.NaN) - began)
  }
  return times.toSorted((a, b) => a - b)
}

/** An API that begins each reply and never ends it. Requests name their conversation in the system prompt. */
const hangingApi = async ({ begun, ended }: Seen) => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { system } = JSON.parse(await text(request)) as { system: string | [{ text: string }] }
    const id = typeof system === 'string' ? system : system[0].text
    response.on('close', () => ended.set(id, clock()))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: ping\ndata: {"type":"ping"}\n\n')
    begun.set(id, clock())
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const hear =
  ({ begun, ended }: Seen) =>
  ({ type, conversation, at }: HeldSaid): void =>
    void (type === 'begun' ? begun : ended).set(conversation, clockOf(at))

const actor = { kind: 'bench' }

/** What others do to the conversations of a store. */
const others = (events: EventStore): Omit<Place, 'close'> => {
  const { conversation } = storeOn(events, actor)
  return {
    ask: (id) => orThrow(conversation(id).append(messageAt(0), { answer: true })),
    rewind: (id) => orThrow(conversation(id).rewind({ turns: 1 })),
    claim: async (id) => {
      const { turnLog } = conversation(id)
      const { revision } = await orThrow(run(turnLog.now()))
      const data = { step: 'conversation@0', worker: 'another', attempt: 2, at: 0 }
      return orThrow(run(turnLog.append([{ type: 'TurnClaimed', data }], revision)))
    },
  }
}

const inMemory = async (api: string, seen: Seen): Promise<Place> => {
  const events = memoryStore()
  const store = await openStore(events)
  const ends = new AbortController()
  const running = heldWorker(store, api, hear(seen)).run({ signal: ends.signal })
  return {
    ...others(events),
    close: async () => {
      ends.abort()
      await running
      await store.close()
    },
  }
}

const inProcess = async (url: string, api: string, seen: Seen): Promise<Place> => {
  const events = await orThrow(openEvents(url))
  const child = fork(new URL('../children/held.ts', import.meta.url).pathname, [url, api], { execArgv: [] })
  await once(child, 'message')
  child.on('message', (said) => hear(seen)(said as HeldSaid))
  return {
    ...others(events),
    close: async () => {
      child.send('stop')
      await once(child, 'exit')
      await events.close()()
    },
  }
}
