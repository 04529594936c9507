import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../events/errors.ts'
import { breath } from './breath.ts'
import { parseCheckpoint } from './checkpoints.ts'
import type { StoreError } from './errors.ts'
import { type AllPage, type AllRange, type Checkpoint, type RecordedEvent, streamPage } from './port.ts'
import type { Pulse } from './pulse.ts'

/** A page of events; `isEnd` is true if it was the last page when it was read. */
export interface TailPage extends AllPage {
  readonly isEnd: boolean
}

/** A store that numbers its events and has no subscriptions. */
export interface TailSource {
  readonly page: (range: AllRange) => Promise<E.Either<StoreError | InvalidInput, TailPage>>
  /** Notifier that beats when this process has written to the store or closed it. */
  readonly pulse: Pulse
  readonly isClosed: () => boolean
  /** Interval at which the store is read in the absence of beats, in milliseconds. */
  readonly pollInterval: number
  /** Makes the pulse beat soon after other processes have written, until the signal aborts. */
  readonly watchOthers?: (signal: AbortSignal) => void
}

/** A recipient of new events. */
export interface TailListener {
  readonly prefixes: readonly string[]
  readonly event: (event: RecordedEvent) => void
  /** Receives, from time to time, the checkpoint up to which the store was searched. */
  readonly reached: (checkpoint: Checkpoint) => void
  /** Called last: with undefined when the store is closed, or with the error if it cannot be read. */
  readonly ended: (error: StoreError | InvalidInput | undefined) => void
}

export interface Tail {
  /**
   * Calls a listener with the events of its streams after a checkpoint. Returns undefined if the tail is already past that checkpoint,
   * in which case the caller must first read the events up to the tail.
   *
   * @returns a function that stops the calls
   */
  readonly join: (listener: TailListener, from: Checkpoint | undefined) => (() => void) | undefined
  /**
   * Passes on events that were just written, in order. Returns false if the events do not directly follow the last event that the tail
   * has read, in which case the tail must read them from the store.
   */
  readonly offer: (written: () => readonly RecordedEvent[]) => boolean
}

/** Interval at which listeners receive the checkpoint up to which the store was searched, in milliseconds. */
const tellInterval = 100

/** State of a read loop for some listeners, which runs until the last of them leaves. */
interface Run {
  at: Checkpoint | undefined
  /** Position of the last event received by each listener, or the position after which the listener joined. */
  readonly had: Map<TailListener, number>
  readonly byPrefix: Map<string, Set<TailListener>>
  /** Longest common prefix of all stream name prefixes ever requested. */
  common: string
  readonly lengths: Set<number>
  readonly stop: AbortController
}

const positionOf = (checkpoint: Checkpoint | undefined): number => parseCheckpoint(checkpoint)?.position ?? -1

/** Creates a tail, which reads the end of a store once for all its followers. */
export const tailOf = (source: TailSource): Tail => {
  let current: Run | undefined

  const end = (run: Run, error?: StoreError | InvalidInput): void => {
    if (current === run) current = undefined
    run.stop.abort()
    for (const listener of run.had.keys()) listener.ended(error)
  }

  const read = async (run: Run): Promise<void> => {
    let told = run.at
    let toldAt = performance.now()
    while (!run.stop.signal.aborted) {
      const seen = source.pulse.beats()
      const { at, common } = run
      const page = await source.page({ after: at, limit: streamPage, prefixes: [common] })
      if (E.isLeft(page) || source.isClosed()) return end(run, E.isLeft(page) ? page.left : undefined)
      // A listener has joined in the meantime whose streams this page does not include.
      if (common !== run.common) continue
      for (const event of page.right.events) handOut(run, event)
      if (positionOf(page.right.checkpoint) > positionOf(run.at)) run.at = page.right.checkpoint
      if (run.at !== undefined && run.at !== told && performance.now() - toldAt >= tellInterval) {
        for (const listener of run.had.keys()) listener.reached(run.at)
        told = run.at
        toldAt = performance.now()
      }
      const pause = run.at === told ? source.pollInterval : Math.min(source.pollInterval, tellInterval)
      if (page.right.isEnd) await source.pulse.next(seen, pause, run.stop.signal)
      else await breath()
    }
  }

  const leave = (run: Run, listener: TailListener): void => {
    run.had.delete(listener)
    for (const prefix of listener.prefixes) run.byPrefix.get(prefix)?.delete(listener)
    if (run.had.size > 0) return
    if (current === run) current = undefined
    run.stop.abort()
  }

  const begin = (at: Checkpoint | undefined, common: string): Run => {
    const run: Run = {
      at,
      had: new Map(),
      byPrefix: new Map(),
      common,
      lengths: new Set(),
      stop: new AbortController(),
    }
    source.watchOthers?.(run.stop.signal)
    void read(run)
    return run
  }

  return {
    join: (listener, from) => {
      const position = positionOf(from)
      if (current && position < positionOf(current.at)) return undefined
      const run = (current ??= begin(from, listener.prefixes[0] ?? ''))
      run.had.set(listener, position)
      for (const prefix of listener.prefixes) {
        const those = run.byPrefix.get(prefix) ?? new Set()
        run.byPrefix.set(prefix, those.add(listener))
        run.lengths.add(prefix.length)
        run.common = commonOf(run.common, prefix)
      }
      return () => leave(run, listener)
    },
    offer: (written) => {
      if (!current) return true
      const events = written()
      const [first] = events
      if (positionOf(first?.checkpoint) !== positionOf(current.at) + 1) return false
      for (const event of events) handOut(current, event)
      current.at = events.at(-1)?.checkpoint
      return true
    },
  }
}

/**
 * Passes an event to the listeners of its stream. Skips listeners that have already received it, through another prefix or before they
 * joined.
 */
const handOut = ({ had, byPrefix, lengths }: Run, event: RecordedEvent): void => {
  const position = positionOf(event.checkpoint)
  for (const length of lengths)
    for (const listener of byPrefix.get(event.stream.slice(0, length)) ?? []) {
      if ((had.get(listener) ?? Infinity) >= position) continue
      had.set(listener, position)
      listener.event(event)
    }
}

const commonOf = (one: string, other: string): string => {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, length)
}
