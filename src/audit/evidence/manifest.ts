/** What a bundle's `format` is. Other files, or other rules, are another one. */
export const bundleFormat = 'palimpsest evidence 2'

/** The files of a bundle, in the order in which they are written: a folder without the last one is no bundle. */
export const files = {
  events: 'events.txt',
  turns: 'turns.txt',
  parts: 'parts.txt',
  requests: 'requests.jsonl',
  entries: 'entries.jsonl',
  checkpoint: 'checkpoint.txt',
  keys: 'keys.json',
  verifier: 'verify.py',
  readme: 'README.md',
  manifest: 'bundle.json',
} as const

/** Those that are checked. */
export const checkedFiles = Object.values(files).filter(
  (name) => name !== files.verifier && name !== files.readme,
)

/** `bundle.json` of this format. All that it says follows from the other files, or is proven by the ledger, but for `sealed`. */
export interface Manifest extends ConversationEnds {
  readonly format: typeof bundleFormat
  readonly conversation: string
  /** Positions of the events that are withheld. */
  readonly withheld: readonly number[]
  /** Lines of `requests.jsonl`. */
  readonly requests: number
  /** What the turns of the conversation recorded. */
  readonly turns: TurnsPart
  /** `entries`: lines of `entries.jsonl`; `sealed`: when the checkpoint was made, by the clock of the store. */
  readonly ledger?: { readonly entries: number; readonly sealed: string }
}

/** The first and the last event of a conversation. */
export interface ConversationEnds {
  /** Position of the conversation's own first event; those before it are of what it was forked from. */
  readonly first: number
  readonly last: number
  /** Hash of the last event. */
  readonly head: string
}

/** The events of `turns.txt`, and the revisions of those that are withheld. */
export interface TurnsPart {
  readonly events: number
  readonly withheld: readonly number[]
}

/** In `entries.jsonl`: an entry of the ledger for something that is in the bundle. */
export interface BundleEntry {
  /** The first line of the leaf: a conversation, or `stream turns-` and the conversation. */
  readonly name: string
  /** Of the event in its own stream. */
  readonly revision: number
  /** Of the event in the file, counted from 0. */
  readonly position: number
  /** Of the leaf. */
  readonly index: number
  /** Hashes in base64, from the leaf upwards. */
  readonly proof: readonly string[]
}

/** What the ledger of a store proves of a conversation (`store.audit.proof`). */
export interface BundleProof {
  /** Every entry of the conversation, of its turns, and of what it was forked from, in the order of the ledger. */
  readonly entries?: readonly BundleEntry[]
  /** A signed note, with its cosignatures, over a ledger of `size` entries. */
  readonly checkpoint: string
  readonly size: number
  /** When it was made, by the clock of the store. */
  readonly sealed: string
  /** Verifier keys, oldest first. Each signs ledgers of more than `after` entries; the one before made it known in an entry. */
  readonly keys: readonly {
    readonly key: string
    readonly after: number
    readonly rotation?: {
      readonly index: number
      readonly proof: readonly string[]
      readonly checkpoint: string
    }
  }[]
}

/** In `keys.json`: an entry of the ledger by which one key was replaced by another. */
export interface Rotation {
  /** The new verifier key. */
  readonly key: string
  readonly index: number
  readonly proof: readonly string[]
  /** Signed by the key before it. */
  readonly checkpoint: string
}

/** The replacements before the checkpoint: later ones say nothing of who signed it. */
export const rotationsIn = ({ keys, size }: BundleProof): readonly Rotation[] =>
  keys.flatMap(({ key, after, rotation }) =>
    rotation && after < size
      ? [{ key, index: rotation.index, proof: rotation.proof, checkpoint: rotation.checkpoint }]
      : [],
  )
