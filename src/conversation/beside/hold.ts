import { noteCodec } from '../../events/notes.ts'
import { notesStreamOf } from '../../events/ids.ts'
import { isFields } from '../../events/json.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'

// A legal hold is a note: `{ by, reason }`, or `{ by, reason, released: true }` once it has ended.

/** Kind of the notes that begin and end a legal hold. */
export const holdKind = 'palimpsest/hold'

/** A legal hold on a conversation: while it lasts, nothing of the conversation is erased. */
export interface LegalHold {
  readonly by: string
  readonly reason?: string
  /** Time at which it began, in ISO 8601. */
  readonly since: string
}

/** Reads the legal hold on a conversation; undefined if there is none. */
export async function* readHold(
  store: EventStore,
  conversation: string,
): Fallible<StoreError, LegalHold | undefined> {
  for await (const recorded of backwards(store, notesStreamOf(conversation))) {
    const stored = yield* unwrap(recorded)
    const { type, data: fact, metadata } = yield* unwrap(noteCodec.decode(stored, stored))
    if (type !== 'Noted' || fact.kind !== holdKind || !isFields(fact.data)) continue
    const { by, reason, released } = fact.data
    if (released === true) return undefined
    return { by: String(by), ...(typeof reason === 'string' && { reason }), since: metadata.time }
  }
  return undefined
}

/** Describes a legal hold: whose it is, since when, and why. */
export const holdText = ({ by, reason, since }: LegalHold): string =>
  `the legal hold of ${by} since ${since}${reason === undefined ? '' : ` (${reason})`}`
