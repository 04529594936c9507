import { hashOf } from '../../src/events/codec.ts'
import type { ConversationEvent, Event } from '../../src/events/events.ts'
import type { Log } from '../../src/projections/path.ts'
import type { EventStore } from '../../src/store/port.ts'
import { chainOf, write } from './write.ts'

/** Stores a log as a chain of forks: at each place a `Forked` is put in, and what follows is in a stream of its own. */
export const writeForked = async (
  store: EventStore,
  history: Log,
  places: readonly number[],
  { name = 'c', change = (log: Log): Log => log } = {},
): Promise<{ id: string; log: Log }> => {
  const cuts = cutsOf(history, places)
  const log = change(cuts.reduceRight<Log>((forked, cut, n) => withFork(forked, cut, `${name}${n}`), history))
  let from = 0
  let hash: string | null = null
  const written: ConversationEvent[] = []
  for (const [n, cut] of [...cuts.map((at, before) => at + before), log.length].entries()) {
    // What the parent goes on with after the fork must not show in it.
    const later: Event = { type: 'MessageAppended', data: { role: 'user', content: [] } }
    const own = log.slice(from, cut).map((event) => forkedFrom(event, hash))
    await write(store, `${name}${n}`, n < cuts.length ? [...own, later] : own, hash)
    written.push(...own)
    const last = chainOf(`${name}${n}`, own, hash).at(-1)
    if (last) hash = hashOf(last)
    from = cut
  }
  return { id: `${name}${cuts.length}`, log: written }
}

const forkedFrom = (event: ConversationEvent, hash: string | null): ConversationEvent =>
  event.type === 'Forked' && hash !== null
    ? { ...event, data: { from: { ...event.data.from, hash } } }
    : event

/** The log with a `Forked` at `cut`; what stood there and behind it moves, and so does every position that names it. */
const withFork = (log: Log, cut: number, parent: string): Log => {
  const fork = { ...log[cut], ...forkOf(parent, cut - 1), position: cut } as ConversationEvent
  const moved = log
    .slice(cut)
    .map((event) => ({ ...movedBy(event, cut), position: event.position + 1 }) as ConversationEvent)
  return [...log.slice(0, cut), fork, ...moved]
}
const positionKeys = new Set([
  'first',
  'last',
  'marker',
  'to',
  'configured',
  'promptSince',
  'toolsFrom',
  'after',
  'before',
  'position',
])
const movedBy = (event: ConversationEvent, cut: number): object => {
  const move = (key: string, value: unknown): unknown =>
    positionKeys.has(key) && typeof value === 'number' && value >= cut ? value + 1 : value
  // Tokens have a `before` and an `after` that are no positions; content has what it likes.
  const { tokens, content, summary, ...rest } = event.data as Record<string, unknown>
  const data = JSON.parse(JSON.stringify(rest), move) as object
  return {
    ...event,
    data: {
      ...data,
      ...(tokens !== undefined && { tokens }),
      ...(content !== undefined && { content }),
      ...(summary !== undefined && { summary }),
    },
  }
}
const forkOf = (conversation: string, position: number): Event => ({
  type: 'Forked',
  data: { from: { conversation, position, hash: 'unchecked' } },
})

export const cutsOf = (log: Log, places: readonly number[]): readonly number[] =>
  [...new Set(places.map((place) => 1 + (place % Math.max(1, log.length - 1))))]
    .filter((cut) => cut < log.length)
    .toSorted((a, b) => a - b)
