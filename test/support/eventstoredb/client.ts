import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EventStoreDBClient, jsonEvent, NO_STREAM, type ResolvedEvent } from '@eventstore/db-client'
import type { Proposed } from './log.ts'

// What the tests of the protocol do with the real client.

export const streamName = (): string => `conformance-${randomUUID()}`

export const event = (n: number): ReturnType<typeof jsonEvent> =>
  jsonEvent({ type: 'Counted', data: { n }, metadata: { from: 'conformance' } })

export const some = (count: number): ReturnType<typeof jsonEvent>[] =>
  Array.from({ length: count }, (_, n) => event(n))

export const eventOf = (bytes: number): ReturnType<typeof jsonEvent> =>
  jsonEvent({ type: 'Long', data: 'x'.repeat(bytes) })

/** Events to preload, each with `bytes` bytes of data. */
export const proposed = (count: number, bytes: number): Proposed[] =>
  Array.from({ length: count }, () => ({
    id: randomUUID(),
    type: 'Filler',
    isJson: false,
    data: Buffer.alloc(bytes),
    metadata: Buffer.alloc(0),
  }))

/** What an append expects that comes after so many events. */
export const afterCount = (events: number): bigint | typeof NO_STREAM =>
  events === 0 ? NO_STREAM : BigInt(events - 1)

export const collect = async <A>(from: AsyncIterable<A>): Promise<A[]> => {
  const all: A[] = []
  for await (const next of from) all.push(next)
  return all
}

/** The first `count` events of a subscription, which is then ended. */
export const take = async <A>(subscription: AsyncIterable<A>, count: number): Promise<A[]> => {
  const events: A[] = []
  for await (const next of subscription) if (events.push(next) === count) break
  return events
}

/** The numbers that `event` gave them. */
export const numbers = (events: readonly ResolvedEvent[]): unknown[] =>
  events.map(({ event: recorded }) => (recorded?.data as { readonly n?: number } | undefined)?.n)

export const contents = async (
  client: EventStoreDBClient,
  stream: string,
  options: Parameters<EventStoreDBClient['readStream']>[1] = {},
): Promise<unknown[]> => numbers(await collect(client.readStream(stream, options)))

/** Tries until the server answers: the client needs a failure or two to notice that it is back. */
export const persist = async <A>(attempt: () => Promise<A>): Promise<A> => {
  for (let tries = 0; tries < 50; tries++) {
    try {
      return await attempt()
    } catch {
      await sleep(100)
    }
  }
  return attempt()
}

/** The two ways of the client to append. */
export const paths = [
  ['batch append', {}],
  // A call with credentials of its own takes the unary way.
  ['unary append', { credentials: { username: 'admin', password: 'changeit' } }],
] as const
