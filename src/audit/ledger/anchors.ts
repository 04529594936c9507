import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { AnchorAhead, AnchorFailed } from './errors.ts'

/**
 * A place that keeps checkpoints out of reach of those who can write to the store. Kept checkpoints expose a later rewriting of the
 * ledger, even one made with the key.
 */
export interface Anchor {
  /** Name as shown and recorded: without secrets. */
  readonly name: string
  /**
   * Returns the checkpoints of this origin that it holds, as signed notes, oldest first; a witness has only the newest. Anything that
   * is not a checkpoint is reported by audits and does not keep the others from being compared.
   */
  readonly held: (origin: string) => TaskEither<AnchorFailed, readonly string[]>
  /** Keeps a checkpoint. @returns the checkpoint with any cosignatures that it was given */
  readonly put: (anchoring: AnchorRequest) => TaskEither<AnchorFailed | AnchorAhead, string>
  /**
   * Checks the anchor's answer as the store recorded it. Only for an anchor that signs but holds nothing.
   *
   * @param recorded when the store says that it recorded the answer: ISO 8601, UTC
   * @returns the checkpoint as it was given
   */
  readonly verify?: (checkpoint: string, recorded: string) => TaskEither<AnchorFailed, string>
}

/** A checkpoint for an anchor. */
export interface AnchorRequest {
  readonly origin: string
  readonly size: number
  /** A signed note. */
  readonly checkpoint: string
  /** Returns hashes that prove that the ledger continues the one of size `old`. */
  readonly consistency: (old: number) => Promise<readonly Uint8Array[]>
}
