/** Value of `format` in a bundle's manifest. Any change to the files or the rules requires a new value. */
export const bundleFormat = 'palimpsest evidence 2'

/** Names of the files in a bundle, in the order in which they are written. A folder without the last file is not a bundle. */
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

/** Names of the files that a verifier checks. */
export const checkedFiles = Object.values(files).filter(
  (name) => name !== files.verifier && name !== files.readme,
)

/** Content of `bundle.json` in this format. All of it except `sealed` follows from the other files or is proven by the ledger. */
export interface Manifest extends ConversationEnds {
  readonly format: typeof bundleFormat
  readonly conversation: string
  /** Positions of the withheld events. */
  readonly withheld: readonly number[]
  /** Number of lines of `requests.jsonl`. */
  readonly requests: number
  /** Number of events recorded by the conversation's turns, and the revisions of the withheld ones. */
  readonly turns: TurnsPart
  /** Number of lines of `entries.jsonl` (`entries`), and time of the checkpoint by the store's clock (`sealed`). */
  readonly ledger?: { readonly entries: number; readonly sealed: string }
}

/**
 * Bounds of an exported conversation: the positions of its first event after a fork and of its last event, and the hash of the last
 * event.
 */
export interface ConversationEnds {
  /** Position of the conversation's first event after a fork; earlier events belong to the conversations that it was forked from. */
  readonly first: number
  readonly last: number
  /** Hash of the last event. */
  readonly head: string
}

/** Number of events in `turns.txt`, and the revisions of the withheld events. */
export interface TurnsPart {
  readonly events: number
  readonly withheld: readonly number[]
}

/** A ledger entry for an event in the bundle, as stored in `entries.jsonl`. */
export interface BundleEntry {
  /** First line of the entry's leaf: a conversation id, or `stream turns-` followed by a conversation id. */
  readonly name: string
  /** Revision of the event in its stream. */
  readonly revision: number
  /** Position of the event in `events.txt` or `turns.txt`, counted from 0. */
  readonly position: number
  /** Index of the entry's leaf in the ledger. */
  readonly index: number
  /** Inclusion proof: hashes in base64, from the leaf upwards. */
  readonly proof: readonly string[]
}

/** Proof of a conversation from a store's ledger (`store.audit.proof`). */
export interface BundleProof {
  /** Every ledger entry for the conversation, its turns, and the conversations that it was forked from, in ledger order. */
  readonly entries?: readonly BundleEntry[]
  /** Signed note, including any cosignatures, for a ledger of `size` entries. */
  readonly checkpoint: string
  readonly size: number
  /** Time of the checkpoint by the store's clock. */
  readonly sealed: string
  /**
   * Verifier keys, oldest first. Each key signs ledgers of more than `after` entries and was announced by the previous key in a ledger
   * entry.
   */
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

/** A ledger entry that replaces the ledger's key, as stored in `keys.json`. */
export interface Rotation {
  /** The new verifier key. */
  readonly key: string
  readonly index: number
  readonly proof: readonly string[]
  /** Checkpoint signed by the previous key. */
  readonly checkpoint: string
}

/** Returns the key rotations before the checkpoint; later rotations do not affect which key signed it. */
export const rotationsIn = ({ keys, size }: BundleProof): readonly Rotation[] =>
  keys.flatMap(({ key, after, rotation }) =>
    rotation && after < size
      ? [{ key, index: rotation.index, proof: rotation.proof, checkpoint: rotation.checkpoint }]
      : [],
  )
