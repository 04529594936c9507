import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../conversation/conversation.ts'
import type { Actor } from '../events/events.ts'
import { run } from '../result/steps.ts'
import type { EventStore, RecordedEvent } from '../store/port.ts'
import type { Turned, TurnError } from '../turn/turned.ts'
import { attempt, release, take } from './attempt.ts'
import { tell } from './beats.ts'
import { type Clock, pause } from './clock.ts'
import { feed, isClosed, prefixesOf } from './feed.ts'
import { type Known, knownBy } from './known.ts'
import type { OpenStep } from './open-step.ts'
import type { Outcome } from './outcome.ts'
import { type Me, pick } from './pick.ts'

/** What a worker is and does; times in milliseconds. */
export interface WorkerSettings {
  readonly slots: number
  /** What the ids of its conversations begin with. */
  readonly conversations: readonly string[]
  readonly ttl: number
  readonly rankWait: number
  readonly grace: number
  readonly give: (chat: Conversation, signal: AbortSignal) => Promise<E.Either<TurnError, Turned>>
  readonly onStep: (step: StepTaken) => void
}

/** An attempt that has ended. */
export interface StepTaken {
  readonly conversation: string
  readonly attempt: number
  readonly outcome: Outcome['reason'] | 'lost'
  readonly ms: number
  readonly error?: string
}

/** What a worker works on. */
export interface Surroundings {
  /** The adapter: workers need no large content. */
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => Conversation
  readonly clock: Clock
}

interface Run {
  readonly ends: AbortController
  /** The revision of its claim, once it is recorded. */
  claimed?: number
  isLost: boolean
  /** The model has finished: what this worker knows only has to follow. */
  isOver: boolean
}

/** How long a worker waits for what it has written itself, or for what has made its claim fail. */
const patience = 1_000
/** An idle worker says less often that it lives. */
const idleBeats = 20

/** Takes steps of conversations and gives them turns, until the signal aborts; then lets go of all within `grace`. */
export const work = async (
  worker: string,
  { slots, conversations, ttl, rankWait, grace, give, onStep }: WorkerSettings,
  { store, actor, conversation: chatOf, clock }: Surroundings,
  signal: AbortSignal,
): Promise<void> => {
  const known: Known = knownBy((id) => conversations.some((prefix) => id.startsWith(prefix)))
  const runs = new Map<string, Run>()
  /** Conversations whose claim has failed: whatever was the reason comes first. */
  const refused = new Map<string, { readonly seen: number; readonly until: number }>()
  const waiting = new Set<() => void>()
  const over = new AbortController()
  let isUp = false
  let cancelLook = (): void => {}

  const isBusyWith = (conversation: string): boolean => {
    if (runs.has(conversation)) return true
    const { seen, until = -Infinity } = refused.get(conversation) ?? {}
    if (clock.now() < until && known.turnsAt(conversation) === seen) return true
    refused.delete(conversation)
    return false
  }
  const me: Me = { worker, ttl, rankWait, isBusyWith }
  const busy = (): number => [...runs.values()].filter(({ isOver }) => !isOver).length

  const look = (): void => {
    cancelLook()
    while (isUp && !signal.aborted && busy() < slots) {
      const { conversation, step, lookAt } = pick(known, me, clock.now())
      if (conversation === undefined || !step) {
        const until = Math.min(lookAt, ...[...refused.values()].map((each) => each.until))
        if (until < Infinity) cancelLook = clock.after(Math.max(0, until - clock.now()), look)
        return
      }
      const started: Run = { ends: new AbortController(), isLost: false, isOver: false }
      runs.set(conversation, started)
      void serve(conversation, step, started).finally(() => {
        runs.delete(conversation)
        look()
      })
    }
  }

  /** Whether the conversation is this worker's, as far as it knows. */
  const holds = (conversation: string): boolean => {
    const step = known.steps.get(conversation)
    return step?.holder === worker && step.stage !== 'over'
  }

  const hasSeen = (conversation: string, { claimed = 0 }: Run): boolean =>
    known.turnsAt(conversation) >= claimed

  /** Resolves when something is so that an event brings about, or after a while. */
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(patience, () => end())
      const check = (): void => {
        if (isSo()) end()
      }
      const end = (): void => {
        cancel()
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })

  const letGo = async (
    chat: Conversation,
    { claimed = 0 }: Run,
    outcome: Parameters<typeof release>[2],
  ): Promise<void> => {
    for (;;) {
      const released = await run(release({ chat, worker }, claimed, outcome))
      if (E.isRight(released) || isClosed(released) || over.signal.aborted) return
      await pause(clock, patience, over.signal)
    }
  }

  const serve = async (conversation: string, step: OpenStep, its: Run): Promise<void> => {
    const chat = chatOf(conversation)
    const seen = known.turnsAt(conversation)
    const taken = await run(take({ chat, worker }, step, seen))
    if (E.isLeft(taken) || taken.right === undefined) {
      refused.set(conversation, { seen, until: clock.now() + patience })
      return
    }
    its.claimed = taken.right
    void beat()
    const began = clock.now()
    const hold = {
      worker,
      chat,
      step: () => known.steps.get(conversation),
      signal: its.ends.signal,
      isLost: () => its.isLost,
      give: (ends: AbortSignal) => give(chat, ends),
    }
    const { step: name, ...outcome } = await attempt(hold, step.attempt, taken.right)
    const ended = its.isLost ? { reason: 'lost' as const } : outcome
    const { reason, ...rest } = ended
    const error = 'error' in rest && rest.error !== undefined ? { error: rest.error } : {}
    onStep({ conversation, attempt: step.attempt, outcome: reason, ms: clock.now() - began, ...error })
    if (ended.reason === 'lost') return
    if (ended.reason !== 'settled') await letGo(chat, its, { ...ended, step: name })
    its.isOver = true
    look()
    await until(() => hasSeen(conversation, its) && !holds(conversation))
    // The model has finished, but not by what the log says of it.
    if (holds(conversation)) await letGo(chat, its, { reason: 'done', step: name })
  }

  const takeIn = (event: RecordedEvent): void => {
    known.see(event, clock.now())
    for (const [conversation, its] of runs) {
      const step = known.steps.get(conversation)
      const isOthers = step?.holder !== undefined && step.holder !== worker
      if (its.claimed === undefined || !hasSeen(conversation, its)) continue
      if (!isOthers && step?.stage !== 'parked') continue
      its.isLost = true
      its.ends.abort(new Error(`${conversation} was taken over by ${step.holder ?? 'nobody'}`))
    }
    for (const check of waiting) check()
    look()
  }

  let beatAt = -Infinity
  let wasBusy = true
  let cancelBeat = (): void => {}
  /** Says that the worker lives, if it is time to. */
  const beat = async (): Promise<void> => {
    cancelBeat()
    const every = ttl * 0.3
    const isDue = runs.size > 0 || wasBusy || clock.now() - beatAt >= every * idleBeats
    if (isDue && clock.now() - beatAt >= every) {
      beatAt = clock.now()
      wasBusy = runs.size > 0
      const fact = { type: 'WorkerBeat' as const, data: { slots, busy: busy() } }
      await run(tell(store, actor, worker, fact))
    }
    cancelBeat()
    if (!over.signal.aborted)
      cancelBeat = clock.after(Math.max(beatAt + every - clock.now(), every / 10), () => void beat())
  }

  const listener = {
    event: (event: RecordedEvent) => (isUp ? takeIn(event) : known.see(event, clock.now())),
    caughtUp: () => {
      isUp = true
      known.reconnected(clock.now())
      void beat()
      look()
    },
    lost: () => {
      isUp = false
    },
  }

  const stop = async (): Promise<void> => {
    cancelLook()
    const ended = new AbortController()
    const allOver = (async () => {
      while (runs.size > 0) await pause(clock, 10, over.signal)
      ended.abort()
    })()
    await pause(clock, grace, ended.signal)
    for (const { ends } of runs.values()) ends.abort(new Error(`${worker} stops`))
    await allOver
    await run(tell(store, actor, worker, { type: 'WorkerStopped', data: {} }))
  }

  const stopped = new Promise<void>((resolve) => {
    const begin = (): void => void stop().finally(resolve)
    if (signal.aborted) begin()
    else signal.addEventListener('abort', begin, { once: true })
  })
  const fed = feed(store, prefixesOf(conversations), listener, { clock, signal: over.signal })
  try {
    await Promise.race([stopped, fed])
  } finally {
    over.abort()
    cancelBeat()
    cancelLook()
    for (const { ends } of runs.values()) ends.abort(new Error('the store is closed'))
    await fed
  }
}
