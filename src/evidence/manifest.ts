/** What a bundle's `format` is. Other files, or other rules, are another one. */
export const bundleFormat = 'palimpsest evidence 1'

/** The files of a bundle, in the order in which they are written: a folder without the last one is no bundle. */
export const files = {
  events: 'events.txt',
  parts: 'parts.txt',
  requests: 'requests.jsonl',
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

/** `bundle.json`. All that it says follows from the other files, or is proven by the ledger. */
export interface Manifest {
  readonly format: typeof bundleFormat
  readonly conversation: string
  /** Position of the conversation's own first event; those before it are of what it was forked from. */
  readonly first: number
  readonly last: number
  /** Hash of the last event. */
  readonly head: string
  /** Positions of the events that are withheld. */
  readonly withheld: readonly number[]
  /** Lines of `requests.jsonl`. */
  readonly requests: number
  readonly ledger?: LedgerPlace
}

/** Where the ledger has the conversation. */
export interface LedgerPlace {
  /** In the conversation's own stream: the event whose hash the ledger has. */
  readonly revision: number
  /** Of the leaf. */
  readonly index: number
  /** Hashes in base64, from the leaf upwards. */
  readonly proof: readonly string[]
}

/** What the ledger of a store proves of a conversation (`store.audit.proof`). */
export interface LedgerProof extends LedgerPlace {
  /** A signed note, with its cosignatures, over a ledger of `size` entries. */
  readonly checkpoint: string
  readonly size: number
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
export const rotationsIn = ({ keys, size }: LedgerProof): readonly Rotation[] =>
  keys.flatMap(({ key, after, rotation }) =>
    rotation && after < size
      ? [{ key, index: rotation.index, proof: rotation.proof, checkpoint: rotation.checkpoint }]
      : [],
  )
