import { setTimeout as sleep } from 'node:timers/promises'
import { allPages } from '../../../../src/store/pages.ts'
import type { EventStore, RecordedEvent } from '../../../../src/store/port.ts'
import { right } from '../../either.ts'

// Follows the raw log while it is written. Shares no code with src/workers.

/** A claim as it was received; `from` is the worker that held the conversation then, if one did. */
export interface Claim {
  readonly chat: string
  readonly worker: string
  readonly from: string | undefined
  readonly attempt: number
  /** When it was received, by the clock of the test; and written, by the wall clock of its writer. */
  readonly at: number
  readonly time: number
}

export interface Watcher {
  readonly claims: readonly Claim[]
  /** Who holds which conversation. */
  readonly holders: ReadonlyMap<string, string>
  /** How many turns of a conversation are over: answered for good, or parked. */
  readonly over: (chat: string) => number
  /** Resolves once there are more than so many. */
  readonly next: (chat: string, over: number) => Promise<void>
  /** How often something was claimed, answered or parked, or a tool started. */
  readonly happened: () => number
  /** The newest events. */
  readonly last: readonly string[]
  readonly waitedFor: () => readonly string[]
  readonly close: () => void
}

/** How many events are kept to be told. */
const told = 30

interface Fields {
  readonly [field: string]: unknown
}

const isFinal = ({ type, data }: RecordedEvent): boolean => {
  if (type !== 'MessageAppended') return false
  const { role, content } = JSON.parse(data) as { readonly role: string; readonly content: readonly Fields[] }
  return role === 'assistant' && !content.some((block) => block['type'] === 'tool_use')
}

export const watcher = (store: EventStore, prefix: string): Watcher => {
  const claims: Claim[] = []
  const holders = new Map<string, string>()
  const over = new Map<string, number>()
  const waiting = new Map<string, Set<() => void>>()
  const ends = new AbortController()
  const last: string[] = []
  let happened = 0

  const see = (event: RecordedEvent): void => {
    const { stream, type } = event
    const chat = stream.slice(stream.indexOf('-') + 1)
    const data = JSON.parse(event.data) as Fields
    last.push(`${stream}@${event.revision} ${type} ${event.data.slice(0, 160)}`)
    if (last.length > told) last.shift()
    if (type === 'TurnClaimed' || type === 'ToolStarted') happened++
    if (type === 'TurnClaimed') {
      const worker = String(data['worker'])
      const { time } = JSON.parse(event.metadata) as { readonly time: string }
      const from = holders.get(chat)
      const at = performance.now()
      claims.push({ chat, worker, from, attempt: Number(data['attempt']), at, time: Date.parse(time) })
      holders.set(chat, worker)
    }
    if (type === 'TurnReleased' && data['worker'] === holders.get(chat)) holders.delete(chat)
    if (type !== 'TurnParked' && !isFinal(event)) return
    happened++
    holders.delete(chat)
    over.set(chat, (over.get(chat) ?? 0) + 1)
    for (const wake of waiting.get(chat) ?? []) wake()
  }

  const follow = async (): Promise<void> => {
    const prefixes = [`conversation-${prefix}`, `turns-${prefix}`]
    for (let after: string | undefined; !ends.signal.aborted; await sleep(20)) {
      try {
        for await (const followed of store.follow({ prefixes, after, signal: ends.signal })) {
          after = followed.checkpoint
          if (followed.type === 'event') see(followed.event)
        }
      } catch {
        // The server is away: again, from there.
      }
    }
  }
  void follow()

  return {
    claims,
    holders,
    happened: () => happened,
    last,
    waitedFor: () => [...waiting].flatMap(([chat, wakes]) => (wakes.size > 0 ? [chat] : [])),
    over: (chat) => over.get(chat) ?? 0,
    next: async (chat, before) => {
      const wakes = waiting.get(chat) ?? new Set()
      waiting.set(chat, wakes)
      while ((over.get(chat) ?? 0) <= before && !ends.signal.aborted)
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            wakes.delete(wake)
            ends.signal.removeEventListener('abort', wake)
            resolve()
          }
          wakes.add(wake)
          ends.signal.addEventListener('abort', wake)
        })
    },
    close: () => ends.abort(),
  }
}

/** Every event of these conversations and workers, as it is stored. */
export const rawEvents = async (store: EventStore, prefix: string): Promise<readonly RecordedEvent[]> => {
  const all: RecordedEvent[] = []
  for await (const page of allPages(store, {
    prefixes: [`conversation-${prefix}`, `turns-${prefix}`, 'worker-'],
  }))
    all.push(...right(page))
  return all
}
