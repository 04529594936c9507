import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { conversationOf, streamOf, turnedIn } from '../../events/ids.ts'

/** Content of a leaf of the ledger. */
export type LedgerEntry =
  /** An event's hash (`hashOf`) at a revision of a stream. The hash also covers all earlier events of the stream. */
  | {
      readonly type: 'head'
      /** Name of the stream, as returned by `nameOf`. */
      readonly name: string
      readonly revision: number
      readonly head: string
    }
  /** A new key, which signs the checkpoints after this entry. */
  | { readonly type: 'key'; readonly key: string }

const ofStream = 'stream '

/**
 * Returns the name of a stream in leaves: the conversation id for a conversation's stream, or `stream ` followed by the stream's name
 * for any other. Conversation ids contain no spaces, so the conversation `turns-a` cannot be confused with the turns of `a`.
 */
export const nameOf = (stream: string): string => conversationOf(stream) ?? ofStream + stream

/** Returns the stream that leaves refer to by this name. */
export const streamNamed = (name: string): string =>
  name.startsWith(ofStream) ? name.slice(ofStream.length) : streamOf(name)

/** Returns the conversation to which a stream belongs, given the stream's name in leaves. */
export const ownerOf = (name: string): string => turnedIn(streamNamed(name)) ?? name

/** Returns the text of the leaf for an entry. */
export const entryText = (entry: LedgerEntry): E.Either<InvalidInput, string> => {
  const fields = entry.type === 'key' ? ['key', entry.key] : [entry.name, String(entry.revision), entry.head]
  return fields.some((field) => field.includes('\n'))
    ? E.left(invalidInput('entry', 'a name in a ledger cannot contain a newline'))
    : E.right(fields.map((field) => `${field}\n`).join(''))
}

/** Parses the output of `entryText`. */
export const parseEntry = (text: string): E.Either<InvalidInput, LedgerEntry> => {
  const [first = '', second = '', third, ...rest] = text.split('\n')
  if (third === '' && rest.length === 0 && first === 'key') return E.right({ type: 'key', key: second })
  const isHead =
    first !== '' &&
    /^(0|[1-9][0-9]{0,14})$/.test(second) &&
    /^[0-9a-f]{64}$/.test(third ?? '') &&
    rest.join('\n') === ''
  return isHead && rest.length === 1
    ? E.right({ type: 'head', name: first, revision: Number(second), head: third as string })
    : E.left(invalidInput('entry', 'must be a conversation, a revision and a hash, or a key, each on a line'))
}

/** A sealed event: its revision and its hash. */
export interface SealedEvent {
  readonly revision: number
  readonly head: string
}

/** Last sealed event of each stream, keyed by `nameOf` of the stream. */
export type LastHeads = Map<string, SealedEvent>

/** Adds the heads from a batch of entries that is older than all batches added before, without replacing newer heads. */
export const takeOlder = (heads: LastHeads, entries: readonly string[]): void => {
  for (const text of entries.toReversed()) {
    const entry = parseEntry(text)
    if (E.isLeft(entry) || entry.right.type !== 'head') continue
    const { name, revision, head } = entry.right
    if (!heads.has(name)) heads.set(name, { revision, head })
  }
}
