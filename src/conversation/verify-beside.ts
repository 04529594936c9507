import * as E from 'fp-ts/lib/Either.js'
import { archiveCodec } from '../events/archive-events.ts'
import { hashOf, type StoredEvent } from '../events/codec.ts'
import { formHashOf, takeErased } from '../events/erased-form.ts'
import type { DecodeFailed } from '../events/errors.ts'
import type { EventData, Metadata } from '../events/events.ts'
import {
  archiveStreamOf,
  type ContentKind,
  inboxStreamOf,
  notesStreamOf,
  turnsStreamOf,
} from '../events/ids.ts'
import { inboxCodec } from '../events/inbox-events.ts'
import { noteCodec } from '../events/notes.ts'
import { turnCodec } from '../events/turn-events.ts'
import { unwrap, run, type Fallible } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import { isOfEvent, type StoreError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore } from '../store/port.ts'
import { endOf, extentOf } from '../store/whole/whole-writes.ts'

type Kind = 'note' | 'turn' | 'inbox' | 'archive'

/** Numbers of erased events in the streams beside a conversation, by kind; absent for kinds without any. */
export type ErasedBeside = { readonly [K in Exclude<ContentKind, 'events'>]?: number }

interface Found {
  /** Number of notes and links that passed verification. */
  readonly notes?: number
  readonly erased: ErasedBeside
  readonly discrepancy?: {
    readonly position: number
    readonly kind: Kind | 'newer' | 'erased'
    readonly message: string
  }
}

/** A stream that accompanies a conversation, with the kind of its events and their decoder. */
interface Beside {
  readonly kind: Kind
  /** Name under which an `Erased` event records the events of this stream. */
  readonly erasedAs: Exclude<ContentKind, 'events'>
  readonly stream: string
  readonly name: string
  readonly decode: (
    stored: StoredEvent,
    place: { readonly stream: string; readonly revision: number },
  ) => E.Either<DecodeFailed, { readonly metadata: Metadata }>
}

const besideOf = (conversation: string): readonly Beside[] => [
  {
    kind: 'note',
    erasedAs: 'notes',
    stream: notesStreamOf(conversation),
    name: 'note',
    decode: noteCodec.decode,
  },
  {
    kind: 'turn',
    erasedAs: 'turns',
    stream: turnsStreamOf(conversation),
    name: 'event of its turns',
    decode: turnCodec.decode,
  },
  {
    kind: 'inbox',
    erasedAs: 'inbox',
    stream: inboxStreamOf(conversation),
    name: 'event of its inbox',
    decode: inboxCodec.decode,
  },
  {
    kind: 'archive',
    erasedAs: 'archive',
    stream: archiveStreamOf(conversation),
    name: 'part of its original file',
    decode: archiveCodec.decode,
  },
]

export const streamsBeside = (conversation: string): readonly string[] =>
  besideOf(conversation).map(({ stream }) => stream)

/** Message for an erased event that no event explains. */
export const noErasure = 'its content is gone, but no event of the conversation says that it was erased'
/** Message for an event that differs from what an erasure left of it. */
export const notAsErased =
  'it is not as its recorded erasure left it: it was changed, or its content is there again'

/**
 * Verifies the streams of a conversation's notes, turns, inbox and archive: reads each one from its first event and recomputes every `prev`.
 *
 * @param erasures the erasures that the conversation records
 */
export async function* verifyBeside(
  store: EventStore,
  conversation: string,
  erasures: readonly EventData['Erased'][],
): Fallible<StoreError, Found> {
  const all = besideOf(conversation)
  let notes = 0
  const erased: { -readonly [K in keyof ErasedBeside]: ErasedBeside[K] } = {}
  // Read in parallel, because most conversations have none of these streams and the store may be remote.
  const chains = await Promise.all(all.map((beside) => run(verifyChain(store, beside, erasures))))
  for (const [index, { kind, erasedAs, name }] of all.entries()) {
    const chain = chains[index]
    if (!chain) continue
    const { events, problem, isNewer, isErased, gone } = yield* unwrap(chain)
    if (gone > 0) erased[erasedAs] = gone
    if (kind === 'note') notes = events
    const counted = notes > 0 || (kind === 'note' && problem !== undefined) ? { notes } : {}
    if (problem !== undefined)
      return {
        ...counted,
        erased,
        discrepancy: {
          position: events,
          kind: isNewer ? 'newer' : isErased ? 'erased' : kind,
          message: `${name} ${events}: ${problem}`,
        },
      }
  }
  return { erased, ...(notes > 0 && { notes }) }
}

interface Chain {
  /** Number of events, from the first one, that passed verification. */
  readonly events: number
  /** Problem with the first event that failed verification; absent if all events passed. */
  readonly problem?: string
  /** Present if a newer version wrote that event. */
  readonly isNewer?: true
  /** Present if the event's erasure is not recorded, or recorded otherwise. */
  readonly isErased?: true
  /** Number of erased events. */
  readonly gone: number
}

async function* verifyChain(
  store: EventStore,
  { stream, decode, erasedAs }: Beside,
  erasures: readonly EventData['Erased'][],
): Fallible<StoreError, Chain> {
  const extent = yield* extentOf(store, stream)
  const { least, most: until } = extent
  const kept = yield* unwrap(store.keptEnd(stream))
  if (extent.isEmpty && !kept) return { events: 0, gone: 0 }
  let prev: string | null = null
  let events = 0
  /** Hashes of what is left of the erased events. */
  const forms = new Map<number, string>()
  const wrong = (problem: string): Chain => ({ events, problem, gone: forms.size })
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
      if (decoded.right.metadata.erased) forms.set(events, formHashOf(stored))
      if (events === kept?.last && prev !== kept.hash)
        return wrong('it differs from the recorded end of the stream: it was changed')
      events++
    }
    await breath()
  }
  if (Math.max(least, Math.min(kept?.last ?? -1, until)) >= events)
    return wrong('it and any later ones were lost')
  const gone = forms.size
  for (const { [erasedAs]: recorded } of erasures) {
    const other = recorded && takeErased(recorded, forms)
    if (other !== undefined) return { events: other, problem: notAsErased, isErased: true, gone }
  }
  const [left] = forms.keys()
  return left === undefined ? { events, gone } : { events: left, problem: noErasure, isErased: true, gone }
}
