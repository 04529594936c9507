import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'

/** What a leaf of the ledger says. */
export type Entry =
  /** The conversation's event at that revision of its stream has this hash (`hashOf`), and so all before it are what they are. */
  | { readonly type: 'head'; readonly conversation: string; readonly revision: number; readonly head: string }
  /** Checkpoints after this one are signed by another key. */
  | { readonly type: 'key'; readonly key: string }

/** The text that is hashed as the leaf. */
export const entryText = (entry: Entry): E.Either<InvalidInput, string> => {
  const fields =
    entry.type === 'key' ? ['key', entry.key] : [entry.conversation, String(entry.revision), entry.head]
  return fields.some((field) => field.includes('\n'))
    ? E.left(invalidInput('entry', 'a name in a ledger cannot hold a newline'))
    : E.right(fields.map((field) => `${field}\n`).join(''))
}

/** Reads what `entryText` writes. */
export const parseEntry = (text: string): E.Either<InvalidInput, Entry> => {
  const [first = '', second = '', third, ...rest] = text.split('\n')
  if (third === '' && rest.length === 0 && first === 'key') return E.right({ type: 'key', key: second })
  const isHead =
    first !== '' &&
    /^(0|[1-9][0-9]{0,14})$/.test(second) &&
    /^[0-9a-f]{64}$/.test(third ?? '') &&
    rest.join('\n') === ''
  return isHead && rest.length === 1
    ? E.right({ type: 'head', conversation: first, revision: Number(second), head: third as string })
    : E.left(invalidInput('entry', 'must be a conversation, a revision and a hash, or a key, each on a line'))
}
