import { noteCodec } from '../../events/notes.ts'
import { notedIn, notesStreamOf } from '../../events/ids.ts'
import { isFields } from '../../events/json.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { breath } from '../../store/breath.ts'
import type { StoreError } from '../../store/errors.ts'
import { backwards, namePages } from '../../store/pages.ts'
import { type EventStore, maxPage, streamPage } from '../../store/port.ts'

// A legal hold is a note: `{ by, reason }`, or `{ by, reason, released: true }` once the hold of this name has ended.

/** Kind of the notes that begin and end a legal hold. */
export const holdKind = 'palimpsest/hold'

/** A legal hold on a conversation: while it lasts, nothing of the conversation is erased. */
export interface LegalHold {
  readonly by: string
  readonly reason?: string
  /** Time at which it began, in ISO 8601. */
  readonly since: string
}

/** The oldest legal hold on a conversation. */
export interface OldestLegalHold extends LegalHold {
  /** The holds of other names, oldest first; absent if there are none. */
  readonly others?: readonly LegalHold[]
}

/** Reads the oldest legal hold on a conversation that its own name has not released; undefined if there is none. */
export async function* readHold(
  store: EventStore,
  conversation: string,
): Fallible<StoreError, OldestLegalHold | undefined> {
  const held = new Map<string, LegalHold>()
  const released = new Set<string>()
  for await (const recorded of backwards(store, notesStreamOf(conversation), { limit: streamPage })) {
    const stored = yield* unwrap(recorded)
    const { type, data: fact, metadata } = yield* unwrap(noteCodec.decode(stored, stored))
    if (type !== 'Noted' || fact.kind !== holdKind || !isFields(fact.data)) continue
    const { by: name, reason, released: isReleased } = fact.data
    const by = String(name)
    if (isReleased === true) released.add(by)
    if (released.has(by)) continue
    // A name that holds once more has held since the first time: deleted first, so that the first times give the order.
    held.delete(by)
    held.set(by, { by, ...(typeof reason === 'string' && { reason }), since: metadata.time })
  }
  const [oldest, ...others] = [...held.values()].toReversed()
  return oldest && { ...oldest, ...(others.length > 0 && { others }) }
}

/** A conversation under a legal hold. */
export interface HeldConversation extends OldestLegalHold {
  readonly conversation: string
}

/** Reads the legal holds of a store, in order of the conversations' ids. A hold is a note, so it reads only conversations with notes. */
export async function* readHolds(store: EventStore): Fallible<StoreError, readonly HeldConversation[]> {
  const held: HeldConversation[] = []
  for await (const names of namePages((last = '') => store.streams(notesStreamOf(''), last, maxPage)))
    for (const conversation of (yield* unwrap(names)).flatMap((name) => notedIn(name) ?? [])) {
      const hold = yield* readHold(store, conversation)
      if (hold) held.push({ conversation, ...hold })
      await breath()
    }
  return held
}

/** Describes a legal hold: whose it is, since when, and why. */
export const holdText = ({ by, reason, since }: LegalHold): string =>
  `the legal hold of ${by} since ${since}${reason === undefined ? '' : ` (${reason})`}`
