// Functions for audits in addition to `store.audit`: signers, anchors, and the checks for verifiers of a proof. They have a separate
// subpath, so that programs that seal nothing do not load them.

import * as E from 'fp-ts/lib/Either.js'
import { toPromise } from './api/promises.ts'
import { newKeyFile as newKeyFileSteps, signerFrom as signerOf, signerIn } from './audit/ledger/key-file.ts'
import type { Signer } from './audit/ledger/keys.ts'
import { task } from './result/fallible.ts'
import { toError } from './result/typed-error.ts'

/**
 * Creates a signer from a private Ed25519 key in PEM (PKCS #8), the format written by `palimpsest audit init` and `openssl genpkey
 * -algorithm ed25519`. Throws `InvalidInput`.
 */
export const signerFrom = (pem: string): Signer => {
  const signer = signerOf(pem)
  if (E.isLeft(signer)) throw toError(signer.left)
  return signer.right
}

/** Reads a signer from a key file, which must be readable by its owner only. Rejects with `InvalidInput`. */
export const keyFile = (file: string): Promise<Signer> => toPromise(task(() => signerIn(file)))

/** Creates a key in a new file that only its owner can read, and returns the signer. Rejects with `InvalidInput` if the file exists. */
export const newKeyFile = (file: string): Promise<Signer> => toPromise(task(() => newKeyFileSteps(file)))

export { checkConsistency, checkInclusion } from './audit/ledger/checks.ts'
export { parseCheckpoint } from './audit/ledger/checkpoints.ts'
export { parseEntry } from './audit/ledger/entries.ts'
export { leafHash } from './audit/ledger/hashes.ts'
export { keyText, parseKey, verifierKey } from './audit/ledger/keys.ts'
export { parseNote, signersOf } from './audit/ledger/notes.ts'
export { fileAnchor } from './audit/ledger/anchors/file.ts'
export { gitAnchor } from './audit/ledger/anchors/git.ts'
export { storeAnchor } from './audit/ledger/anchors/store.ts'
export { timestampAnchor } from './audit/ledger/anchors/timestamp.ts'
export { witnessAnchor } from './audit/ledger/anchors/witness.ts'
export type { Anchor, AnchorRequest } from './audit/ledger/anchors.ts'
export type { TimestampOptions } from './audit/ledger/anchors/timestamp.ts'
export type { WitnessOptions } from './audit/ledger/anchors/witness.ts'
export type { LogHead, InclusionProof } from './audit/ledger/checks.ts'
export type { LedgerCheckpoint } from './audit/ledger/checkpoints.ts'
export type { LedgerEntry } from './audit/ledger/entries.ts'
export type { KeyUse, Signer, VerifierKey } from './audit/ledger/keys.ts'
export type { SignedNote, NoteSignature } from './audit/ledger/notes.ts'
