import { noteCodec } from '../../events/notes.ts'
import { notesStreamOf } from '../../events/ids.ts'
import { isFields } from '../../events/json.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { backwards } from '../../store/pages.ts'
import { type EventStore, streamPage } from '../../store/port.ts'

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

/** Collects the legal holds among the notes of a conversation, given newest first. */
export const createHoldFold = () => {
  const held = new Map<string, LegalHold>()
  const released = new Set<string>()
  return {
    add: ({ kind, data }: { readonly kind: string; readonly data?: unknown }, time: string): void => {
      if (kind !== holdKind || !isFields(data)) return
      const { by: name, reason, released: isReleased } = data
      const by = String(name)
      if (isReleased === true) released.add(by)
      if (released.has(by)) return
      // A name that holds once more has held since the first time: deleted first, so that the first times give the order.
      held.delete(by)
      held.set(by, { by, ...(typeof reason === 'string' && { reason }), since: time })
    },
    /** Returns the oldest hold that its own name has not released; undefined if there is none. */
    oldest: (): OldestLegalHold | undefined => {
      const [oldest, ...others] = [...held.values()].toReversed()
      return oldest && { ...oldest, ...(others.length > 0 && { others }) }
    },
  }
}

/** Reads the oldest legal hold on a conversation itself that its own name has not released; undefined if there is none. */
export async function* readHold(
  store: EventStore,
  conversation: string,
): Fallible<StoreError, OldestLegalHold | undefined> {
  const fold = createHoldFold()
  for await (const recorded of backwards(store, notesStreamOf(conversation), { limit: streamPage })) {
    const stored = yield* unwrap(recorded)
    const { type, data, metadata } = yield* unwrap(noteCodec.decode(stored, stored))
    if (type === 'Noted') fold.add(data, metadata.time)
  }
  return fold.oldest()
}

/** Describes a legal hold: whose it is, since when, and why. */
export const holdText = ({ by, reason, since }: LegalHold): string =>
  `the legal hold of ${by} since ${since}${reason === undefined ? '' : ` (${reason})`}`
