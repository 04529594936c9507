import { storeOn } from '../../src/api/open.ts'
import type { ConversationHandle } from '../../src/conversation/conversation.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { createTurnRunner } from '../../src/agent/turn/turn-runner.ts'
import { type Clock, ownClock, pause } from '../../src/agent/workers/peers/clock.ts'
import { work } from '../../src/agent/workers/serving/worker.ts'
import { settingsWith } from '../../test/support/workers/settings.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, type PartResult } from '../report.ts'

const minutes = 10
const workers = 3
const conversations = 30
const actor = { kind: 'bench' }

/** What workers record while each of them waits for long calls of the model, by a clock that does not wait. */
export const longCall = async (): Promise<PartResult> => {
  const store = memoryStore()
  const { clock, pass } = simulated()
  const { conversation } = storeOn(store, actor)
  const stop = new AbortController()
  let calls = 0
  const give = async (chat: ConversationHandle, signal: AbortSignal) => {
    const called = (): Promise<void> => {
      calls++
      return pause(clock, minutes * 60_000, signal)
    }
    return createTurnRunner(chat).turn({
      ...turnOptions,
      client: instantClient(0, 1, called).client,
      signal,
      keepPartial: false,
    })()
  }
  const running = Array.from({ length: workers }, (_, n) =>
    work(
      `w${n}`,
      settingsWith({ slots: conversations / workers, give }),
      { store, actor, conversation, clock },
      stop.signal,
    ),
  )
  await pass(1_000)
  for (let n = 0; n < conversations; n++)
    await conversation(`c${n}`).append([messageAt(0)], { answer: true })()
  await pass((minutes + 1) * 60_000)
  const answered = await replies(store)
  const said = await eventsIn(store, ['worker-', 'workers-'])
  const facts = await withTool()
  stop.abort()
  await pass(60_000)
  await Promise.all(running)
  return {
    title: `A healthy call of ${minutes} minutes, by a simulated clock`,
    figures: [
      { what: 'requests answered', figure: `${answered} of ${conversations}` },
      atMost('calls of the model beyond one each', calls - conversations, 0, count),
      atMost(
        'appends a second of a worker besides those of its steps',
        said / (minutes + 1) / 60 / workers,
        0.34,
        (value) => `${value.toFixed(2)}/s`,
      ),
      atMost('appends besides the messages of a request that calls a tool with effects', facts, 2, count),
    ],
    notes: [`${workers} workers with all slots busy, in memory, with the default TTL of 10 s.`],
  }
}

/** How many appends besides messages one request takes whose turn calls one `unsafe` tool. */
const withTool = async (): Promise<number> => {
  const inner = memoryStore()
  let appends = 0
  const store: EventStore = {
    ...inner,
    append: (request) => {
      if (request.stream.startsWith('turns-')) appends++
      return inner.append(request)
    },
  }
  const { conversation } = storeOn(store, actor)
  const stop = new AbortController()
  const run = { look: { run: () => 'It is there.', effect: 'unsafe' as const } }
  const { client } = instantClient(1)
  const give = (chat: ConversationHandle, signal: AbortSignal) =>
    createTurnRunner(chat).turn({ ...turnOptions, run, client, signal, keepPartial: false })()
  const ended = new Promise<void>((resolve) => {
    const settings = settingsWith({ give, onStep: () => resolve() })
    void work('w', settings, { store, actor, conversation, clock: ownClock }, stop.signal)
  })
  await conversation('c').append([messageAt(0)], { answer: true })()
  await ended
  stop.abort()
  return appends
}

const eventsIn = async (store: EventStore, prefixes: readonly string[]): Promise<number> => {
  let events = 0
  for (let after: string | undefined; ;) {
    const page = await store.readAll({ prefixes, after, limit: 1_000 })()
    if (page._tag === 'Left') throw new Error(page.left.message)
    events += page.right.events.length
    if (page.right.checkpoint === undefined || page.right.checkpoint === after) return events
    after = page.right.checkpoint
  }
}

const replies = async (store: EventStore): Promise<number> => {
  const { conversation } = storeOn(store, actor)
  let answered = 0
  for (let n = 0; n < conversations; n++) {
    const shown = await conversation(`c${n}`).effective()()
    if (shown._tag === 'Right' && shown.right.length === 2) answered++
  }
  return answered
}

/** A clock that passes from one timer to the next as soon as the process has nothing else to do. */
const simulated = (): { readonly clock: Clock; readonly pass: (ms: number) => Promise<void> } => {
  let now = 0
  const timers = new Map<() => void, number>()
  const quiet = async (): Promise<void> => {
    for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    clock: {
      now: () => now,
      after: (ms, run) => {
        const timer = (): void => run()
        timers.set(timer, now + Math.max(0, ms))
        return () => timers.delete(timer)
      },
    },
    pass: async (ms) => {
      const end = now + ms
      for (;;) {
        await quiet()
        const [first, at = Infinity] = [...timers].toSorted(([, one], [, other]) => one - other)[0] ?? []
        if (!first || at > end) break
        now = at
        timers.delete(first)
        first()
      }
      now = end
    },
  }
}
