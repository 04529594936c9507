import * as E from 'fp-ts/lib/Either.js'
import type { EventStore, RecordedEvent } from '../../../../src/store/port.ts'
import { listSteps } from '../../../../src/agent/workers/peers/roster.ts'
import { untoldIn, wrongEffects, wrongIn } from '../judge.ts'
import type { Scene } from './scene.ts'
import type { Talked } from './talk.ts'
import { type Claim, rawEvents } from './watcher.ts'

/** What came of a scene. Times in milliseconds. */
export interface Figures {
  readonly turns: number
  readonly replies: number
  readonly claims: readonly Claim[]
  readonly events: readonly RecordedEvent[]
  /** What the judge finds wrong. */
  readonly wrong: readonly string[]
  /** Conversations with something open at the end. */
  readonly open: readonly string[]
  readonly parked: number
  /** What attempts failed of while their workers lived. */
  readonly failures: readonly string[]
  readonly calls: number
  /** Calls of the model whose reply is not in the log. */
  readonly wasted: number
  /** Claims of what another worker held. */
  readonly takenOver: number
  /** From a death, or the beginning of a freeze, to the claims of what the worker held. */
  readonly takeovers: readonly number[]
  /** Two calls at once for a conversation by workers that had nothing wrong with them. */
  readonly overlaps: readonly string[]
  /** Claims of what a living worker held, within a TTL after the store was back. */
  readonly tooSoon: readonly string[]
  readonly waits: readonly number[]
  /** When whatever had to be said, and can be answered, was answered. */
  readonly answeredAfter: number
  /** From when a worker could begin to its first claim. */
  readonly starts: readonly number[]
  /** How many events whoever begins now has to read. */
  readonly toRead: number
  /** How often each parked conversation was claimed. */
  readonly attemptsParked: readonly number[]
  /** Unsafe calls whose effect is not known, or not as their results say. */
  readonly untold: readonly string[]
  /** Workers that were told to stop and did not say that they had. */
  readonly unsaid: readonly string[]
  readonly troubles: number
  /** How many conversations workers held when something happened to them. */
  readonly held: number
  /** How often the store was away. */
  readonly returns: number
  readonly seconds: number
}

const eventsToRead = async (store: EventStore, prefix: string): Promise<number> => {
  let read = 0
  const readAll: EventStore['readAll'] = (range) => async () => {
    const page = await store.readAll(range)()
    if (E.isRight(page)) read += page.right.events.length
    return page
  }
  for await (const _ of listSteps({ ...store, readAll }, { conversations: [prefix] }));
  return read
}

const overlapsIn = ({ model, fleet }: Scene): readonly string[] => {
  const isTroubled = (worker: string, until: number): boolean =>
    fleet.troubles.some((one) => one.worker === worker && one.from <= until)
  return [...Map.groupBy(model.calls, ({ chat }) => chat)].flatMap(([chat, calls]) =>
    calls.flatMap((call, n) => {
      const other = calls
        .slice(0, n)
        .find(({ worker, ended }) => worker !== call.worker && ended > call.begun)
      return other && !isTroubled(other.worker, call.begun) && !isTroubled(call.worker, call.begun)
        ? [`${call.worker} and ${other.worker} call the model for ${chat}`]
        : []
    }),
  )
}

export const figuresOf = async (scene: Scene, { turns, waits, answeredAfter }: Talked): Promise<Figures> => {
  const { events: store, prefix, watch, model, effects, fleet, returns, ttl, began } = scene
  const events = await rawEvents(store, prefix)
  const open: string[] = []
  for await (const { conversation, state } of scene.store.steps({ conversations: [prefix] }))
    if (state !== 'parked') open.push(`${conversation} is ${state}`)
  const replies = events.flatMap(({ type, data }) => {
    if (type !== 'MessageAppended') return []
    const { role, origin } = JSON.parse(data) as {
      readonly role: string
      readonly origin?: { readonly requestId?: string }
    }
    return role === 'assistant' ? [origin?.requestId] : []
  })
  const recorded = new Set(replies)
  const twice = replies.length === recorded.size ? [] : ['a reply is recorded twice']
  const takenOver = watch.claims.filter(({ from, worker }) => from !== undefined && from !== worker)
  const takeovers = takenOver.flatMap(({ from, at }) => {
    const trouble = fleet.troubles.findLast((one) => one.worker === from && one.from < at)
    return trouble ? [at - trouble.from] : []
  })
  const streamsWith = (wanted: string): readonly string[] =>
    events.flatMap(({ type, stream }) => (type === wanted ? [stream] : []))
  const [parked, claimed, stopped] = ['TurnParked', 'TurnClaimed', 'WorkerStopped'].map(streamsWith) as [
    readonly string[],
    readonly string[],
    readonly string[],
  ]
  return {
    turns,
    waits,
    answeredAfter,
    starts: fleet.begun.flatMap(({ id, at }) => {
      const first = watch.claims.find(({ worker }) => worker === id)
      return first ? [first.at - at] : []
    }),
    toRead: await eventsToRead(store, prefix),
    events,
    replies: replies.length,
    claims: watch.claims,
    wrong: [...wrongIn(events, { isOver: true }), ...wrongEffects(effects.effects), ...twice],
    open,
    parked: parked.length,
    failures: events.flatMap(({ type, data }) => {
      const { reason, error } = JSON.parse(data) as { readonly reason?: string; readonly error?: string }
      return type === 'TurnReleased' && reason === 'failed' ? [String(error)] : []
    }),
    calls: model.calls.length,
    wasted: model.calls.filter(({ request }) => !recorded.has(request)).length,
    takenOver: takenOver.length,
    takeovers,
    overlaps: overlapsIn(scene),
    tooSoon: takenOver.flatMap(({ chat, worker, from, time }) =>
      returns.some((back) => time >= back && time < back + ttl) &&
      !fleet.troubles.some((one) => one.worker === from)
        ? [`${worker} takes ${chat} from ${String(from)} right after the store is back`]
        : [],
    ),
    attemptsParked: parked.map((stream) => claimed.filter((other) => other === stream).length),
    untold: untoldIn(events, effects.effects),
    unsaid: fleet.troubles.flatMap(({ worker, what }) =>
      what === 'stopped' && !stopped.includes(`worker-${worker}`) ? [worker] : [],
    ),
    troubles: fleet.troubles.length,
    held: fleet.troubles.reduce((sum, { held }) => sum + held, 0),
    returns: returns.length,
    seconds: (performance.now() - began) / 1_000,
  }
}
