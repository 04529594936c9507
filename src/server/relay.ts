import type { ServedEvent } from '../index.ts'
import { type EventQueue, eventQueue } from '../agent/turn/stream/event-queue.ts'

// Live events that workers report during their turns. They are not stored, and nothing depends on them: all results are recorded in
// the log.

/** Subscription to the live events of one conversation. */
export interface RelaySubscription extends Pick<EventQueue, 'next'> {
  readonly leave: () => void
}

/** Passes live events of turns from workers to readers. */
export interface EventRelay {
  /** Receives events from a worker and records the time of its report. */
  readonly hear: (worker: string, served: readonly ServedEvent[]) => void
  readonly listen: (conversation: string) => RelaySubscription
  /** Returns the ids of the workers that have reported recently. */
  readonly workers: () => ReadonlySet<string>
}

/** Removes error data that must not reach readers or other processes: a driver's error is private and may contain circular references. */
export const tellable = (served: ServedEvent): ServedEvent => {
  const { event } = served
  if (event.type !== 'retrying') return served
  const kept = Object.entries(event.error).filter(([field]) => !untold.has(field))
  return { ...served, event: { ...event, error: Object.fromEntries(kept) as typeof event.error } }
}
const untold = new Set(['cause', 'partial', 'failed', 'stack'])

/** Interval at which a worker reports even without events, in milliseconds. */
export const relayBeat = 10_000

/** Maximum number of workers that the relay remembers. A limit is needed because any client may report under any worker name. */
const mostHeard = 10_000

export const newRelay = (now: () => number = () => performance.now()): EventRelay => {
  const queues = new Map<string, Set<EventQueue>>()
  /** Time of each worker's last report, least recent first. */
  const heard = new Map<string, number>()
  const forget = (): void => {
    for (const [worker, at] of heard) {
      if (heard.size <= mostHeard && now() - at <= 3 * relayBeat) return
      heard.delete(worker)
    }
  }
  return {
    hear: (worker, served) => {
      forget()
      // Reinserted, so that the map stays ordered by the time of the last report.
      heard.delete(worker)
      heard.set(worker, now())
      for (const { conversation, event } of served.map(tellable)) {
        if (event.type === 'done') continue
        for (const queue of queues.get(conversation) ?? []) queue.push(event)
      }
    },
    listen: (conversation) => {
      const queue = eventQueue()
      const its = queues.get(conversation) ?? new Set()
      queues.set(conversation, its.add(queue))
      return {
        next: queue.next,
        leave: () => {
          queue.end()
          its.delete(queue)
          if (its.size === 0) queues.delete(conversation)
        },
      }
    },
    workers: () => {
      forget()
      return new Set(heard.keys())
    },
  }
}
