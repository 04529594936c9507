import * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../events/codec.ts'
import type { DecodeFailed } from '../events/errors.ts'
import type { Metadata } from '../events/events.ts'
import { inboxStreamOf, notesStreamOf, turnsStreamOf } from '../events/ids.ts'
import { inboxCodec } from '../events/inbox-events.ts'
import { noteCodec } from '../events/notes.ts'
import { turnCodec } from '../events/turn-events.ts'
import { unwrap, run, type Fallible } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import { isOfEvent, type StoreError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore } from '../store/port.ts'
import { endOf, extentOf } from '../store/whole/whole-writes.ts'

type Kind = 'note' | 'turn' | 'inbox'

interface Found {
  /** Number of notes and links that passed verification. */
  readonly notes?: number
  readonly discrepancy?: {
    readonly position: number
    readonly kind: Kind | 'newer'
    readonly message: string
  }
}

/** A stream that accompanies a conversation, with the kind of its events and their decoder. */
interface Beside {
  readonly kind: Kind
  readonly stream: string
  readonly name: string
  readonly decode: (
    stored: StoredEvent,
    place: { readonly stream: string; readonly revision: number },
  ) => E.Either<DecodeFailed, { readonly metadata: Metadata }>
}

const besideOf = (conversation: string): readonly Beside[] => [
  { kind: 'note', stream: notesStreamOf(conversation), name: 'note', decode: noteCodec.decode },
  {
    kind: 'turn',
    stream: turnsStreamOf(conversation),
    name: 'event of its turns',
    decode: turnCodec.decode,
  },
  {
    kind: 'inbox',
    stream: inboxStreamOf(conversation),
    name: 'event of its inbox',
    decode: inboxCodec.decode,
  },
]

export const streamsBeside = (conversation: string): readonly string[] =>
  besideOf(conversation).map(({ stream }) => stream)

/**
 * Verifies the streams of a conversation's notes, turns and inbox: reads each one from its first event and recomputes every `prev`.
 * Returns `{}` if the conversation has no notes and no stream has a discrepancy.
 */
export async function* verifyBeside(store: EventStore, conversation: string): Fallible<StoreError, Found> {
  const all = besideOf(conversation)
  let notes = 0
  // Read in parallel, because most conversations have none of these streams and the store may be remote.
  const chains = await Promise.all(all.map((beside) => run(verifyChain(store, beside))))
  for (const [index, { kind, name }] of all.entries()) {
    const chain = chains[index]
    if (!chain) continue
    const { events, problem, isNewer } = yield* unwrap(chain)
    if (kind === 'note') notes = events
    const counted = notes > 0 || (kind === 'note' && problem !== undefined) ? { notes } : {}
    if (problem !== undefined)
      return {
        ...counted,
        discrepancy: {
          position: events,
          kind: isNewer ? 'newer' : kind,
          message: `${name} ${events}: ${problem}`,
        },
      }
  }
  return notes > 0 ? { notes } : {}
}

interface Chain {
  /** Number of events, from the first one, that passed verification. */
  readonly events: number
  /** Problem with the first event that failed verification; absent if all events passed. */
  readonly problem?: string
  /** Present if a newer version wrote that event. */
  readonly isNewer?: true
}

async function* verifyChain(store: EventStore, { stream, decode }: Beside): Fallible<StoreError, Chain> {
  const extent = yield* extentOf(store, stream)
  const { least, most: until } = extent
  const kept = yield* unwrap(store.keptEnd(stream))
  if (extent.isEmpty && !kept) return { events: 0 }
  let prev: string | null = null
  let events = 0
  const wrong = (problem: string): Chain => ({ events, problem })
  for await (const page of pagesOf(store, stream, { to: endOf(extent, kept) })) {
    if (E.isLeft(page)) return isOfEvent(page.left) ? wrong(page.left.message) : yield page.left
    for (const stored of page.right) {
      const decoded = decode(stored, stored)
      if (E.isLeft(decoded)) {
        const { message, isNewer } = decoded.left
        return { ...wrong(message), ...(isNewer && { isNewer }) }
      }
      if (stored.revision !== events || decoded.right.metadata.prev !== prev)
        return wrong('the one before it does not match the recorded hash: one was changed or is missing')
      prev = hashOf(stored)
      if (events === kept?.last && prev !== kept.hash)
        return wrong('it differs from the recorded end of the stream: it was changed')
      events++
    }
    await breath()
  }
  if (Math.max(least, Math.min(kept?.last ?? -1, until)) >= events)
    return wrong('it and any later ones were lost')
  return { events }
}
