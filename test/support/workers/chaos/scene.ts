import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isError, openStore, type Store } from '../../../../src/index.ts'
import * as E from 'fp-ts/lib/Either.js'
import { openEvents } from '../../../../src/api/open.ts'
import type { EventStore } from '../../../../src/store/port.ts'
import type { ApiFailure, ApiReply } from '../../../../src/testing/messages-api/replies.ts'
import { text } from '../../log.ts'
import { fillOldStore, type OldStore } from '../old-store.ts'
import { randomOf } from '../scheduler.ts'
import { type Effects, effectsServer, type Moment } from './effects.ts'
import { type Fleet, fleet, type WorkerSpec } from './fleet.ts'
import { type Call, type FakeModel, fakeModel } from './model.ts'
import { type Place, places } from './places.ts'
import { type Watcher, watcher } from './watcher.ts'

/** What a scene is made of. */
export interface Setting {
  readonly on: Place['kind']
  readonly workers: number
  readonly slots: number
  readonly ttl?: number
  readonly grace?: number
  readonly stall?: number
  /** By how many hours the wall clocks of workers may be wrong. */
  readonly hours?: number
  /** How long the model takes, at most, in milliseconds. */
  readonly slow?: number
  readonly seed: number
  /** Of the deaths, which fraction somebody reports; the others have to be noticed. */
  readonly reported?: number
  /** What is in the store before its workers begin. */
  readonly before?: Omit<OldStore, 'prefix'>
  /** The fraction of tool calls whose process dies of them. */
  readonly deadly?: number
  /** Whether one more worker stands by. */
  readonly standby?: true
}

/** Workers on a store, and everything outside them. */
export interface Scene {
  readonly place: Place
  readonly prefix: string
  readonly ttl: number
  /** By the clock of the test. */
  readonly began: number
  readonly store: Store
  readonly events: EventStore
  readonly watch: Watcher
  readonly model: FakeModel
  readonly effects: Effects
  readonly fleet: Fleet
  /** When the server was back after it was away, by the wall clock. */
  readonly returns: number[]
  /** From 0 to 1, by the seed. */
  readonly dice: () => number
  /** Carried out however often the store is away meanwhile. */
  readonly persistently: <A>(command: (commandId: string) => Promise<A>) => Promise<A>
  /** Aborts when the scene is over. */
  readonly signal: AbortSignal
  readonly close: () => Promise<void>
}

const away = ['StoreUnavailable', 'OutcomeUnknown', 'StoreBusy'] as const
const kinds = ['none', 'idempotent', 'unsafe']

/** What the model says to the last message: a tool that it names is called. */
const replyTo = (last: string, id: string): ApiReply => {
  const wanted = last.includes('tool_result') ? undefined : kinds.find((kind) => last.includes(`use ${kind}`))
  return wanted === undefined
    ? { content: [text('Yes.')] }
    : { content: [{ type: 'tool_use', id, name: wanted, input: {} }] }
}

const breakdown: ApiFailure = { status: 500, type: 'api_error', message: 'it broke', retryAfter: 0 }
const refusal: ApiFailure = { status: 400, type: 'invalid_request_error', message: 'no' }
const never = (): Promise<never> => new Promise(() => {})

/** @param program that of the worker processes */
export const scene = async (setting: Setting, program: string): Promise<Scene> => {
  const { on, workers, slots, ttl = 1_000, grace = 10_000, stall = 60_000, hours = 0 } = setting
  const { seed, slow = 50, reported = 1, deadly = 0 } = setting
  const dice = randomOf(seed)
  const place = await places[on]()
  const store = await openStore(place.url)
  const opened = await openEvents(place.url)()
  if (E.isLeft(opened)) throw new Error(opened.left.message)
  const events = opened.right
  const over = new AbortController()
  const prefix = `${randomUUID().slice(0, 8)}-`

  const persistently: Scene['persistently'] = async (command) => {
    for (const commandId = randomUUID(); ; await sleep(50))
      try {
        over.signal.throwIfAborted()
        return await command(commandId)
      } catch (error) {
        if (!away.some((tag) => isError(error, tag))) throw error
      }
  }

  const killed = (pid: number): void => {
    const child = workersHere.living.find((one) => one.pid === pid)
    // If no other begins in its place, the scene ends with that.
    if (child) workersHere.kill(child).catch(() => {})
  }
  const answer = async (messages: readonly object[], call: Call): Promise<ApiReply | ApiFailure> => {
    const last = JSON.stringify(messages.at(-1))
    const poison = /poison (\w+)/.exec(last)?.[1]
    if (poison === 'kill') killed(call.pid)
    if (poison === 'kill' || poison === 'hang') return never()
    await sleep(dice() * slow)
    if (poison !== undefined) return poison === 'break' ? breakdown : refusal
    return replyTo(last, `toolu_${randomUUID().replaceAll('-', '')}`)
  }
  const model = await fakeModel(({ messages }, call) => answer(messages, call))
  const moments: readonly Moment[] = ['before', 'after', 'told']
  const deaths = new Set<string>()
  const effects = await effectsServer((pid, call) => {
    const moment = moments[Math.floor(dice() * moments.length)]
    // A call dies once at most, and no more processes at once than one.
    if (dice() >= deadly || !moment || deaths.has(call) || workersHere.living.length < workers)
      return undefined
    deaths.add(call)
    return { moment, now: () => killed(pid) }
  })
  const spec: Omit<WorkerSpec, 'url' | 'standby'> = {
    model: model.url,
    effects: effects.url,
    ttl,
    slots,
    grace,
    stall,
    prefix,
    hours,
  }
  const watch = watcher(events, prefix)
  const heldBy = (worker: string): number =>
    [...watch.holders.values()].filter((one) => one === worker).length
  const dead = async ({ id }: { readonly id: string }): Promise<void> => {
    if (dice() < reported) await persistently(() => store.workerStopped(id))
  }
  const workersHere = fleet(program, place, spec, dead, heldBy)
  const close = async (): Promise<void> => {
    over.abort()
    watch.close()
    await workersHere.close()
    model.close()
    effects.close()
    await store.close()
    await events.close()()
    await place.close()
  }
  try {
    if (setting.before) await fillOldStore(events, { ...setting.before, prefix })
    await Promise.all(Array.from({ length: workers }, () => workersHere.begin()))
    if (setting.standby) await workersHere.begin(true)
  } catch (error) {
    await close()
    throw error
  }
  return {
    place,
    prefix,
    ttl,
    began: performance.now(),
    store,
    events,
    watch,
    model,
    effects,
    fleet: workersHere,
    returns: [],
    dice,
    persistently,
    signal: over.signal,
    close,
  }
}
