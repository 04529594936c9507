import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { AnchorAhead, AnchorFailed } from './errors.ts'

/**
 * A place that keeps checkpoints out of reach of whoever can write to the store. What it keeps makes a later rewriting of the ledger
 * noticeable, with the key as well.
 */
export interface Anchor {
  /** As it is shown and recorded: without secrets. */
  readonly name: string
  /**
   * The checkpoints of this origin that it holds, signed notes, the oldest first; a witness has the newest only. What is among them and is no
   * checkpoint is told in audits, and does not keep others from being compared.
   */
  readonly held: (origin: string) => TaskEither<AnchorFailed, readonly string[]>
  /** Keeps a checkpoint. @returns it, with any cosignatures that it was given */
  readonly put: (anchoring: AnchorRequest) => TaskEither<AnchorFailed | AnchorAhead, string>
  /**
   * Only of an anchor that holds nothing and signs: checks what it has answered, as the store recorded it.
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
  /** Hashes that prove that the ledger continues the one of that size. */
  readonly consistency: (old: number) => Promise<readonly Uint8Array[]>
}
