import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { AnchorAhead, AnchorFailed } from './errors.ts'

/**
 * External storage for checkpoints, out of reach of people who can write to the store. Its checkpoints expose a later rewriting of the
 * ledger, even one made with the ledger's key.
 */
export interface Anchor {
  /** Name for display and records; it contains no secrets. */
  readonly name: string
  /**
   * Returns the stored checkpoints of this origin as signed notes, oldest first; a witness returns only the newest. Notes that are not
   * checkpoints are reported by audits and do not prevent the others from being compared.
   */
  readonly held: (origin: string) => TaskEither<AnchorFailed, readonly string[]>
  /**
   * Stores a checkpoint.
   *
   * @returns the checkpoint, with any cosignatures that the anchor added
   */
  readonly put: (anchoring: AnchorRequest) => TaskEither<AnchorFailed | AnchorAhead, string>
  /** True if `held` need not return every checkpoint that was stored, as with a witness. Default false. */
  readonly isPartial?: boolean
  /**
   * Checks the anchor's answer as recorded by the store. Present only on an anchor that signs checkpoints without storing them.
   *
   * @param recorded time at which the store recorded the answer, according to the store: ISO 8601, UTC
   * @returns the checkpoint as given to the anchor
   */
  readonly verify?: (checkpoint: string, recorded: string) => TaskEither<AnchorFailed, string>
}

/** A checkpoint to be stored by an anchor. */
export interface AnchorRequest {
  readonly origin: string
  readonly size: number
  /** The checkpoint as a signed note. */
  readonly checkpoint: string
  /** Returns the hashes of a consistency proof from the ledger of `old` entries to this checkpoint. */
  readonly consistency: (old: number) => Promise<readonly Uint8Array[]>
}
