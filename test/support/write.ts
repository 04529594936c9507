import type { StoredEvent } from '../../src/events/codec.ts'
import type { ConversationEvent, Event } from '../../src/events/events.ts'
import { streamOf } from '../../src/events/ids.ts'
import type { EventStore } from '../../src/store/port.ts'
import { type Chain, encodeChain, completeEnvelope } from '../../src/conversation/writing/encode.ts'
import { right } from './either.ts'
import { saltOf } from './receipts.ts'

/** The stored forms of events, each as if a command of its own had written it, chained. An event that has a salt keeps it. */
export const chainOf = (
  id: string,
  events: readonly (Event & Partial<Pick<ConversationEvent, 'metadata'>>)[],
  prev: string | null = null,
): readonly StoredEvent[] => {
  const stored: StoredEvent[] = []
  let before = prev
  for (const event of events) {
    // The same salts each time: the events of a fork are chained to those of its parent, made again.
    const { salt = saltOf(`${id} ${stored.length}`) } = event.metadata ?? {}
    const named = { commandId: `${stored.length}`, now: new Date(0) }
    const envelope = { ...completeEnvelope(named, { kind: 'test' }), saltAt: () => salt }
    const chain: Chain = right(encodeChain(id, before, [event], envelope))
    stored.push(...chain.events)
    before = chain.hash
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
