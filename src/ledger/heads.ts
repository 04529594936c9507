import * as E from 'fp-ts/lib/Either.js'
import { orThrow, run } from '../result/steps.ts'
import type { EventStore } from '../store/port.ts'
import { parseEntry } from './entries.ts'
import { logStream } from './facts.ts'
import { batchIn, type Ledger } from './log.ts'
import { backwards } from './stored.ts'

/** An entry of the ledger for a conversation. */
export interface HeadEntry {
  /** Of the event in the conversation's own stream, and its hash when it was sealed, which covers all before it. */
  readonly revision: number
  readonly head: string
  /** Of the entry. */
  readonly index: number
  /** When it was sealed: ISO 8601, UTC. */
  readonly sealed: string
}

/** What was sealed of a conversation, the newest first. Searches the ledger backwards. Iteration throws a `LedgerError`. */
export async function* headsOf(
  store: EventStore,
  { number, revision: last }: Pick<Ledger, 'number' | 'revision'>,
  conversation: string,
): AsyncGenerator<HeadEntry, void> {
  // As it is in the JSON of a batch, which need not be parsed to see that it is not there.
  const sought = JSON.stringify(`${conversation}\n`).slice(0, -1)
  for await (const event of backwards(store, logStream(number), last)) {
    const recorded = await orThrow(event)
    if (!recorded.data.includes(sought)) continue
    const { from, entries, time: sealed } = await orThrow(run(batchIn(recorded)))
    for (const [n, text] of [...entries.entries()].toReversed()) {
      const entry = parseEntry(text)
      if (E.isLeft(entry) || entry.right.type !== 'head' || entry.right.conversation !== conversation)
        continue
      const { revision, head } = entry.right
      yield { revision, head, index: from + n, sealed }
    }
  }
}
