import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { conversationOf, streamOf, turnedIn } from '../../events/ids.ts'

/** Content of a leaf of the ledger. */
export type LedgerEntry =
  /** The event at that revision of a stream has this hash (`hashOf`), which also fixes all events before it. */
  | {
      readonly type: 'head'
      /** Name of the stream (`nameOf`). */
      readonly name: string
      readonly revision: number
      readonly head: string
    }
  /** A new key: it signs the checkpoints after this entry. */
  | { readonly type: 'key'; readonly key: string }

const ofStream = 'stream '

/**
 * Names a stream as leaves do: the stream of a conversation by the conversation's id, any other by its own name after a word and a
 * space. No id contains a space, so the conversation `turns-a` is not confused with the turns of `a`.
 */
export const nameOf = (stream: string): string => conversationOf(stream) ?? ofStream + stream

/** Returns the stream with this name in leaves. */
export const streamNamed = (name: string): string =>
  name.startsWith(ofStream) ? name.slice(ofStream.length) : streamOf(name)

/** Returns the conversation that a named stream belongs to. */
export const ownerOf = (name: string): string => turnedIn(streamNamed(name)) ?? name

/** Returns the text that is hashed as the leaf. */
export const entryText = (entry: LedgerEntry): E.Either<InvalidInput, string> => {
  const fields = entry.type === 'key' ? ['key', entry.key] : [entry.name, String(entry.revision), entry.head]
  return fields.some((field) => field.includes('\n'))
    ? E.left(invalidInput('entry', 'a name in a ledger cannot hold a newline'))
    : E.right(fields.map((field) => `${field}\n`).join(''))
}

/** Reads what `entryText` writes. */
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

/** The event of a stream that an entry names, and its hash. */
export interface SealedEvent {
  readonly revision: number
  readonly head: string
}

/** Last sealed event of each stream, by the stream's name (`nameOf`). */
export type LastHeads = Map<string, SealedEvent>

/** Adds the heads of entries that are older than those added before. */
export const takeOlder = (heads: LastHeads, entries: readonly string[]): void => {
  for (const text of entries.toReversed()) {
    const entry = parseEntry(text)
    if (E.isLeft(entry) || entry.right.type !== 'head') continue
    const { name, revision, head } = entry.right
    if (!heads.has(name)) heads.set(name, { revision, head })
  }
}
