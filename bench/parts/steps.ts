import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { openEvents } from '../../src/api/open.ts'
import { type Conversation, openStore } from '../../src/index.ts'
import type { AppendRequest, Checkpoint, EventStore, RecordedEvent } from '../../src/store/port.ts'
import { messageAt } from '../messages.ts'
import { atLeast, atMost, count, type PartResult, times } from '../report.ts'
import { median, timed } from '../rounds.ts'
import { startWorker } from '../worker-processes.ts'

const processes = 4
const slots = 8
/** After so many rounds, each process has given about a thousand turns. */
const warmUp = 10

/** How many requests a second four worker processes answer, and how long the same appends take four processes that do nothing else. */
export const steps = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const conversations = isQuick ? 100 : 400
  const rounds = isQuick ? 2 : 9
  const workers = await working(`sqlite:${join(folder, 'workers.db')}`, conversations)
  const bare = await appending(`sqlite:${join(folder, 'bare.db')}`, slots)
  const single = await appending(`sqlite:${join(folder, 'single.db')}`, 1)
  const seconds: Round[] = []
  // The first rounds configure the conversations, and warm up: a worker runs for weeks, and V8 compiles what it does for the first seconds.
  for (let round = -(isQuick ? 2 : warmUp); round < rounds; round++) {
    const worked = await workers.round()
    const appends = await workers.written()
    const took = { worked, single: await single.round(appends), bare: await bare.round(appends) }
    const own = appends.filter(({ stream }) => !stream.startsWith('worker'))
    if (round >= 0) seconds.push({ ...took, appends: own.length })
  }
  await workers.close()
  await bare.close()
  await single.close()
  const rate = (of: (each: Round) => number): number => median(seconds.map(of))
  const perSecond = (of: (each: Round) => number): string =>
    `${count(rate((each) => (conversations * 1_000) / of(each)))}/s`
  return {
    title: `Steps a second: ${processes} worker processes of ${slots} slots on SQLite, a model that answers at once`,
    figures: [
      { what: 'requests added and answered', figure: perSecond(({ worked }) => worked) },
      {
        what: 'their appends by as many processes that do nothing else, each one append after another',
        figure: perSecond(({ single: alone }) => alone),
      },
      {
        what: `the same, each ${slots} at once, which share commits`,
        figure: perSecond(({ bare: alone }) => alone),
      },
      atLeast(
        'beside appends one after another',
        rate(({ worked, single: alone }) => alone / worked),
        0.4,
      ),
      {
        what: `beside appends ${slots} at once`,
        figure: times(rate(({ worked, bare: alone }) => alone / worked)),
      },
      atMost(
        'appends for each besides its two messages, without tools',
        rate(({ appends }) => appends / conversations) - 2,
        1,
        count,
      ),
    ],
    notes: [
      `A round is a request to each of ${conversations} conversations, ${processes * slots} at a time, until all are answered; then the events that it wrote are appended to another file in the same appends, by ${processes} processes. Beats and checkpoints of the workers are among the appends. ${isQuick ? 2 : warmUp} rounds before, of all that is measured, are not counted.`,
      'The study measured BullMQ 1,621, Graphile Worker 467 and pg-boss 80 jobs added and done a second: 4 processes of 10 slots that do nothing, where a step here is a whole turn: history, request, reply, receipt.',
    ],
  }
}

/** Milliseconds, and how many appends it took. */
interface Round {
  readonly worked: number
  readonly single: number
  readonly bare: number
  readonly appends: number
}

interface Working {
  /** Milliseconds from the first request until all are answered. */
  readonly round: () => Promise<number>
  /** The appends since the last call. */
  readonly written: () => Promise<readonly AppendRequest[]>
  readonly close: () => Promise<void>
}

/** Starts worker processes of eight slots on a store, for rounds of one request to each conversation. The model takes `ms` milliseconds. */
export const working = async (
  url: string,
  conversations: number,
  workerCount = processes,
  ms = 0,
): Promise<Working> => {
  const store = await openStore(url)
  const events = await eventsAt(url)
  const chats = Array.from({ length: conversations }, (_, n) => store.conversation(`bench-${n}`))
  let left = 0
  let over = (): void => {}
  const workers = await Promise.all(
    Array.from({ length: workerCount }, () =>
      startWorker(
        url,
        (said) => {
          if (said.type === 'ended' && (left -= said.steps) <= 0) over()
        },
        { slots, ms, tells: false },
      ),
    ),
  )
  let after: Checkpoint | undefined
  return {
    round: () =>
      timed(async () => {
        left = conversations
        const answered = new Promise<void>((resolve) => {
          over = resolve
        })
        const asking = chats.values()
        await Promise.all(Array.from({ length: processes * slots }, () => askAll(asking)))
        await answered
      }),
    written: async () => {
      const all: RecordedEvent[] = []
      for (;;) {
        const page = await events.readAll({ after, limit: 1_000 })()
        if (E.isLeft(page)) throw new Error(page.left.message)
        all.push(...page.right.events)
        if (page.right.events.length === 0) return appendsOf(all)
        after = page.right.checkpoint
      }
    },
    close: async () => {
      for (const { stop } of workers) await stop()
      await store.close()
      await events.close()()
    },
  }
}

const askAll = async (chats: Iterable<Conversation>): Promise<void> => {
  for (const chat of chats) await chat.append(messageAt(0), { answer: true })
}

/** The appends by which events came to be. */
const appendsOf = (events: readonly RecordedEvent[]): readonly AppendRequest[] => {
  const appends = new Map<string, { stream: string; events: RecordedEvent[]; expected: number }>()
  for (const event of events) {
    const { stream, revision, metadata } = event
    const name = `${stream} ${(JSON.parse(metadata) as { readonly commandId: string }).commandId}`
    const append = appends.get(name)
    if (append) append.events.push(event)
    else appends.set(name, { stream, events: [event], expected: revision - 1 })
  }
  return [...appends.values()].map(({ events: own, ...append }) => ({
    ...append,
    events: own.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
  }))
}

/** Appends whatever it is given, in the lanes of some processes. A conversation stays in its lane. */
const appending = async (url: string, lanesEach: number) => {
  const store = await openStore(url)
  const script = new URL('../children/appender.ts', import.meta.url).pathname
  const children = Array.from({ length: processes }, () => fork(script, [url], { execArgv: [] }))
  await Promise.all(children.map((child) => once(child, 'message')))
  const laneOf = new Map<string, number>()
  return {
    round: async (appends: readonly AppendRequest[]): Promise<number> => {
      const lanes = Array.from({ length: processes * lanesEach }, (): AppendRequest[] => [])
      for (const append of appends) {
        const topic = append.stream.slice(append.stream.indexOf('-'))
        const lane = laneOf.get(topic) ?? laneOf.size % lanes.length
        laneOf.set(topic, lane)
        lanes[lane]?.push(append)
      }
      const done = Promise.all(children.map((child) => once(child, 'message')))
      return timed(async () => {
        children.forEach((child, n) => child.send(lanes.filter((_, lane) => lane % processes === n)))
        await done
      })
    },
    close: async () => {
      for (const child of children) {
        child.kill()
        await once(child, 'exit')
      }
      await store.close()
    },
  }
}

const eventsAt = async (url: string): Promise<EventStore> => {
  const opened = await openEvents(url)()
  if (E.isLeft(opened)) throw new Error(opened.left.message)
  return opened.right
}
