/** Value of a bundle's `format`. Other files or other rules need another value. */
export const bundleFormat = 'palimpsest evidence 2'

/** The files of a bundle, in the order in which they are written: a folder without the last one is not a bundle. */
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

/** The files that are checked. */
export const checkedFiles = Object.values(files).filter(
  (name) => name !== files.verifier && name !== files.readme,
)

/** The `bundle.json` of this format. Everything in it except `sealed` follows from the other files or is proven by the ledger. */
export interface Manifest extends ConversationEnds {
  readonly format: typeof bundleFormat
  readonly conversation: string
  /** Positions of the withheld events. */
  readonly withheld: readonly number[]
  /** Number of lines of `requests.jsonl`. */
  readonly requests: number
  /** Events that the turns of the conversation recorded. */
  readonly turns: TurnsPart
  /** `entries`: number of lines of `entries.jsonl`; `sealed`: time of the checkpoint by the clock of the store. */
  readonly ledger?: { readonly entries: number; readonly sealed: string }
}

/** Position of the conversation's own first event; earlier events are of the conversation that it was forked from. */
export interface ConversationEnds {
  /** Position of the conversation's own first event; those before it are of what it was forked from. */
  readonly first: number
  readonly last: number
  /** Hash of the last event. */
  readonly head: string
}

/** The number of events in `turns.txt`, and the revisions of the withheld ones. */
export interface TurnsPart {
  readonly events: number
  readonly withheld: readonly number[]
}

/** An entry of the ledger for something in the bundle, as in `entries.jsonl`. */
export interface BundleEntry {
  /** First line of the leaf: a conversation, or `stream turns-` and the conversation. */
  readonly name: string
  /** Revision of the event in its own stream. */
  readonly revision: number
  /** Position of the event in the file, counted from 0. */
  readonly position: number
  /** Index of the leaf. */
  readonly index: number
  /** Hashes in base64, from the leaf upwards. */
  readonly proof: readonly string[]
}

/** Proof of a conversation by the ledger of a store (`store.audit.proof`). */
export interface BundleProof {
  /** Every entry for the conversation, its turns, and the conversations that it was forked from, in the order of the ledger. */
  readonly entries?: readonly BundleEntry[]
  /** A signed note, with its cosignatures, over a ledger of `size` entries. */
  readonly checkpoint: string
  readonly size: number
  /** Time of the checkpoint by the clock of the store. */
  readonly sealed: string
  /** Verifier keys, oldest first. Each signs ledgers of more than `after` entries; the key before it announced it in an entry. */
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

/** An entry of the ledger that replaces one key by another, as in `keys.json`. */
export interface Rotation {
  /** The new verifier key. */
  readonly key: string
  readonly index: number
  readonly proof: readonly string[]
  /** Checkpoint signed by the key before it. */
  readonly checkpoint: string
}

/** Returns the rotations before the checkpoint; later ones say nothing about who signed it. */
export const rotationsIn = ({ keys, size }: BundleProof): readonly Rotation[] =>
  keys.flatMap(({ key, after, rotation }) =>
    rotation && after < size
      ? [{ key, index: rotation.index, proof: rotation.proof, checkpoint: rotation.checkpoint }]
      : [],
  )
