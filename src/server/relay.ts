import type { ServedEvent } from '../index.ts'
import { type EventQueue, eventQueue } from '../agent/turn/stream/event-queue.ts'

// What workers tell of turns while they give them. Nothing of it is kept, and nothing rests on it: what counts is recorded.

/** A reader of what is told of one conversation. */
export interface RelaySubscription extends Pick<EventQueue, 'next'> {
  readonly leave: () => void
}

/** Passes on to readers what workers tell. */
export interface EventRelay {
  /** Takes note that a worker tells, and of what it tells. */
  readonly hear: (worker: string, served: readonly ServedEvent[]) => void
  readonly listen: (conversation: string) => RelaySubscription
  /** The workers that tell, as far as they were heard lately. */
  readonly workers: () => ReadonlySet<string>
}

/** As readers and other processes may be told it: what a driver's error says is not for them, and it may contain itself. */
export const tellable = (served: ServedEvent): ServedEvent => {
  const { event } = served
  if (event.type !== 'retrying') return served
  const kept = Object.entries(event.error).filter(([field]) => !untold.has(field))
  return { ...served, event: { ...event, error: Object.fromEntries(kept) as typeof event.error } }
}
const untold = new Set(['cause', 'partial', 'failed', 'stack'])

/** How often a worker says that it tells, even if it has nothing to tell, in milliseconds. */
export const relayBeat = 10_000

/** How many workers are known at most: anybody may post under any name. */
const mostHeard = 10_000

export const newRelay = (now: () => number = () => performance.now()): EventRelay => {
  const queues = new Map<string, Set<EventQueue>>()
  /** When each worker was heard last, those heard first before the others. */
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
      // Those heard last are last.
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
