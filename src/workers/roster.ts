import { setTimeout as sleep } from 'node:timers/promises'
import { type Checkpoint, type EventStore, type RecordedEvent } from '../store/port.ts'
import { prefixesOf, readTo } from './feed.ts'
import { knownBy } from './known.ts'
import { type OpenStepInfo, stepInfo } from './listing.ts'
import { conversationIn, fieldsIn, seenWorker } from './seen.ts'

export interface RosterOptions {
  /** How often to look, in milliseconds. Default: once. */
  readonly every?: number | undefined
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined
}

/** A worker that has not said that it has stopped: it may have died since. */
export interface WorkerInfo {
  readonly worker: string
  /** When it last said something: ISO 8601, UTC. */
  readonly heard: string
  /** How many conversations it works on at once; unknown until its first beat. */
  readonly slots?: number
  /** What it works on, and since when (ISO 8601, UTC). */
  readonly steps: readonly (Pick<OpenStepInfo, 'conversation' | 'step' | 'attempt'> & {
    readonly since: string
  })[]
}

/** Who works on what. */
export interface Roster {
  readonly workers: readonly WorkerInfo[]
  /** What workers are asked to do, the oldest first. */
  readonly steps: readonly OpenStepInfo[]
  /** How many claims the log holds. */
  readonly claims: number
}

/** Folds the log into rosters. */
const rosterKeeper = () => {
  const known = knownBy(() => true)
  const said = new Map<string, { readonly heard: string; readonly slots?: number }>()
  const claimed = new Map<string, string>()
  let claims = 0
  let order = 0

  const seeWorker = (event: RecordedEvent, time: string): void => {
    const seen = seenWorker(event)
    if (!seen) return
    const { slots } = fieldsIn(event.data)
    if (seen.isStopped) said.delete(seen.worker)
    else said.set(seen.worker, { heard: time, ...(typeof slots === 'number' && { slots }) })
  }
  const seeClaim = (conversation: string, event: RecordedEvent, time: string): void => {
    claims++
    claimed.set(conversation, time)
    const worker = String(fieldsIn(event.data)['worker'])
    said.set(worker, { ...said.get(worker), heard: time })
  }
  return {
    see: (event: RecordedEvent): void => {
      known.see(event, order++)
      const conversation = conversationIn(event.stream)
      if (conversation !== undefined && event.type !== 'TurnClaimed') return
      const time = String(fieldsIn(event.metadata)['time'])
      if (conversation === undefined) seeWorker(event, time)
      else seeClaim(conversation, event, time)
    },
    roster: (): Roster => {
      const steps = [...known.steps]
        .flatMap(([conversation, step]) => stepInfo(conversation, step) ?? [])
        .toSorted((one, other) => (one.since < other.since ? -1 : 1))
      const held = Map.groupBy(steps, ({ holder }) => holder)
      const workers = [...said].map(([worker, its]) => ({
        worker,
        ...its,
        steps: (held.get(worker) ?? []).map(({ conversation, step, attempt }) => {
          return { conversation, step, attempt, since: claimed.get(conversation) ?? its.heard }
        }),
      }))
      return { workers, steps, claims }
    },
  }
}

/** Who works on what, once or again and again. Each event is read once. Iteration throws a `StoreError`. */
export async function* rosters(
  store: EventStore,
  { every, signal }: RosterOptions = {},
): AsyncGenerator<Roster, void> {
  const { see, roster } = rosterKeeper()
  let after: Checkpoint | undefined
  while (!signal?.aborted) {
    after = await readTo(store, prefixesOf(['']), after, see)
    yield roster()
    if (every === undefined) return
    await sleep(every, undefined, { ...(signal && { signal }) }).catch(() => {})
  }
}
