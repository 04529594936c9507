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

/** Records calls in order, beside the program that makes them. It never fails, and never makes the caller wait. */
export interface RecordQueue {
  readonly add: (exchange: ModelExchange) => void
  /** Adds a call that cannot be recorded, with the reason. */
  readonly miss: (reason: string) => void
  /** Waits until every call added so far is recorded. */
  readonly settled: () => Promise<void>
}

/** Creates a queue of calls to record in a store. */
export const createRecordQueue = (
  store: RecordTarget,
  { onGap, onRecorded }: RecordListeners = {},
): RecordQueue => {
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
  const miss = (reason: string): void => {
    missed++
    tell(onGap, { calls: 1, reason })
  }
  const record = async (exchange: ModelExchange): Promise<void> => {
    try {
      const call = await store.record(exchange)
      if (!call) return
      tell(onRecorded, call)
      if (missed === 0) return
      const calls = missed
      missed = 0
      await store.conversation(call.conversation).note({ kind: 'recorder/gap', data: { calls } })
    } catch (error) {
      miss(error instanceof Error ? error.message : String(error))
    }
  }
  return {
    add: (exchange) => {
      const size = exchange.body.length + exchange.reply.body.length
      if (!backlog.add(size)) return miss(noRoom)
      const before = last
      last = (async () => {
        await before
        await record(exchange)
        backlog.remove(size)
      })()
    },
    miss,
    settled: () => last,
  }
}
