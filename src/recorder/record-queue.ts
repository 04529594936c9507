import { checkStore } from '../store/given.ts'
import { kinds, type OptionKinds } from '../store/options.ts'
import { createBacklog, noRoom } from './backlog.ts'
import type { ModelExchange } from './exchange.ts'
import type { RecordedCall } from './recorder.ts'

/** Calls that were not recorded, as a program is told of them. */
export interface RecordGap {
  /** Number of calls. */
  readonly calls: number
  readonly reason: string
}

/** Part of a store that a queue needs. */
export interface RecordTarget {
  readonly record: (exchange: ModelExchange) => Promise<RecordedCall | undefined>
  readonly conversation: (id: string) => {
    readonly note: (note: { readonly kind: string; readonly data: unknown }) => Promise<unknown>
  }
}

export interface RecordListeners {
  /** Called with calls that were not recorded. The conversation that is recorded next has a note of kind `recorder/gap`, too. */
  readonly onGap?: ((gap: RecordGap) => void) | undefined
  /** Called with each call once it is recorded. */
  readonly onRecorded?: ((call: RecordedCall) => void) | undefined
}

export const listenerKinds: OptionKinds<RecordListeners> = { onGap: kinds.call, onRecorded: kinds.call }

/** Outcome of a call: `call` if it was recorded, `problem` if it was not; neither if there was nothing to record. */
export interface RecordOutcome {
  readonly call?: RecordedCall
  readonly problem?: string
  /**
   * Present if a later attempt may succeed: `soon` if the store takes no calls at present, as while it is locked or full; `later` if it
   * must be repaired first, or the recorder.
   */
  readonly mayPass?: 'soon' | 'later'
}

/** Records calls in order, beside the program that makes them. It never fails, and never makes the caller wait. */
export interface RecordQueue {
  /** Adds a call. The caller need not wait for its outcome. */
  readonly add: (exchange: ModelExchange) => Promise<RecordOutcome>
  /** Adds a call that cannot be recorded, with the reason. */
  readonly miss: (reason: string) => void
  /** Waits until every call added so far is recorded. */
  readonly settled: () => Promise<void>
}

/**
 * Creates a queue of calls to record in a store.
 *
 * @param isKeeper true if the caller keeps the calls that may pass, and adds them again: they do not count as missed
 */
export const createRecordQueue = (
  store: RecordTarget,
  { onGap, onRecorded }: RecordListeners = {},
  isKeeper = false,
): RecordQueue => {
  checkStore(store, ['record', 'conversation'])
  let last: Promise<void> = Promise.resolve()
  const backlog = createBacklog()
  let missed = 0

  const tell = <A>(listener: ((value: A) => void) | undefined, value: A): void => {
    try {
      listener?.(value)
    } catch {
      // A listener that throws must not stop the recording.
    }
  }
  const miss = (reason: string): RecordOutcome => {
    missed++
    tell(onGap, { calls: 1, reason })
    return { problem: reason }
  }
  const record = async (exchange: ModelExchange): Promise<RecordOutcome> => {
    try {
      const call = await store.record(exchange)
      if (!call) return {}
      tell(onRecorded, call)
      if (missed > 0) {
        const calls = missed
        missed = 0
        await store.conversation(call.conversation).note({ kind: 'recorder/gap', data: { calls } })
      }
      return { call }
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      const mayPass = passes(Reflect.get(Object(error), '_tag'))
      return mayPass && isKeeper ? { problem, mayPass } : miss(problem)
    }
  }
  return {
    add: async (exchange) => {
      const size = exchange.body.length + exchange.reply.body.length
      if (!backlog.add(size)) return miss(noRoom)
      const before = last
      const outcome = (async () => {
        await before
        const done = await record(exchange)
        backlog.remove(size)
        return done
      })()
      last = outcome.then(() => undefined)
      return outcome
    },
    miss,
    settled: () => last,
  }
}

const passes = (tag: unknown): RecordOutcome['mayPass'] => {
  if (tag === 'InvalidInput' || tag === 'EventTooLarge') return undefined
  return passing.has(tag) ? 'soon' : 'later'
}

const passing = new Set<unknown>([
  'Conflict',
  'OutcomeUnknown',
  'StoreBusy',
  'StoreDenied',
  'StoreFull',
  'StoreReadOnly',
  'StoreUnavailable',
])
