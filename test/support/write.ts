import type { StoredEvent } from '../../src/events/codec.ts'
import type { Event } from '../../src/events/events.ts'
import { streamOf } from '../../src/events/ids.ts'
import type { EventStore } from '../../src/store/port.ts'
import { type Chain, encodeChain, completeEnvelope } from '../../src/conversation/writing/encode.ts'
import { right } from './either.ts'

/** The stored forms of events, each as if a command of its own had written it, chained. */
export const chainOf = (
  id: string,
  events: readonly Event[],
  prev: string | null = null,
): readonly StoredEvent[] => {
  const stored: StoredEvent[] = []
  let hash = prev
  for (const event of events) {
    const envelope = completeEnvelope({ commandId: `${stored.length}`, now: new Date(0) }, { kind: 'test' })
    const chain: Chain = right(encodeChain(id, hash, [event], envelope))
    stored.push(...chain.events)
    hash = chain.hash
  }
  return stored
}

/** Writes events to a conversation that is not there yet. @param prev hash of the event that it was forked from */
export const write = async (
  store: EventStore,
  id: string,
  events: readonly Event[],
  prev: string | null = null,
): Promise<void> => {
  const stored = chainOf(id, events, prev)
  if (stored.length > 0) right(await store.append({ stream: streamOf(id), events: stored, expected: -1 })())
}
