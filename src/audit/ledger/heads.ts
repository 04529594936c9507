import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import { unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { isKeyMissing, isLoss } from '../../store/errors.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { type LastHeads, parseEntry, type SealedEvent, streamNamed, takeOlder } from './entries.ts'
import type { LedgerError } from './errors.ts'
import { logStream } from './facts.ts'
import { batchIn, type Ledger } from './log.ts'

/** A ledger entry for an event of a stream. */
export interface HeadEntry {
  /** Revision of the sealed event in its stream, and its hash, which covers all earlier events. */
  readonly revision: number
  readonly head: string
  /** Index of the entry in the ledger. */
  readonly index: number
  /** Time at which the entry was sealed: ISO 8601, UTC. */
  readonly sealed: string
}

/**
 * Searches the ledger backwards and yields its entries for a stream, newest first. Throws a `LedgerError` during iteration.
 *
 * @param name name of the stream (`nameOf`)
 */
export async function* headsOf(
  store: EventStore,
  { number, revision: last }: Pick<Ledger, 'number' | 'revision'>,
  name: string,
): AsyncGenerator<HeadEntry, void> {
  // The name as it appears in a batch's JSON: a batch without it need not be parsed.
  const sought = JSON.stringify(`${name}\n`).slice(0, -1)
  for await (const event of backwards(store, logStream(number), { from: last })) {
    const recorded = await orThrow(event)
    if (!recorded.data.includes(sought)) continue
    const { from, entries, time: sealed } = await orThrow(run(batchIn(recorded)))
    for (const [n, text] of [...entries.entries()].toReversed()) {
      const entry = parseEntry(text)
      if (E.isLeft(entry) || entry.right.type !== 'head' || entry.right.name !== name) continue
      const { revision, head } = entry.right
      yield { revision, head, index: from + n, sealed }
    }
  }
}

/** Reads the newest ledger entry of every stream. */
export async function* lastHeads(
  store: EventStore,
  { number, revision }: Pick<Ledger, 'number' | 'revision'>,
): Fallible<LedgerError, LastHeads> {
  const heads: LastHeads = new Map()
  for await (const event of backwards(store, logStream(number), { from: revision }))
    takeOlder(heads, (yield* batchIn(yield* unwrap(event))).entries)
  return heads
}

/** A difference between the store and a ledger entry. */
export interface SealDifference {
  readonly state: 'changed' | 'gone'
  readonly message: string
  /** Present if the event is sealed, and no key that was given opens it. */
  readonly isKeyMissing?: true
}

/** Compares an event in the store with its ledger entry. Returns undefined if they match. Throws a `StoreError`. */
export const differenceFrom = async (
  store: EventStore,
  name: string,
  { revision, head }: SealedEvent,
): Promise<SealDifference | undefined> => {
  const stream = streamNamed(name)
  const read = await store.read({ stream, from: revision, direction: 'forwards', limit: 1 })()
  if (E.isLeft(read)) {
    if (!isLoss(read.left)) await orThrow(read)
    return {
      state: 'gone',
      message: read.left.message,
      ...(isKeyMissing(read.left) && { isKeyMissing: true }),
    }
  }
  const [event] = read.right
  if (!event) return { state: 'gone', message: 'the event was sealed but is missing' }
  return hashOf(event) === head
    ? undefined
    : { state: 'changed', message: 'the event, or one before it, differs from what was sealed' }
}
