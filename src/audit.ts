// What audits need besides `store.audit`: signers, anchors, and the checks for whoever verifies a proof. A subpath of its own, so that
// programs that seal nothing load none of it.

import * as E from 'fp-ts/lib/Either.js'
import { toPromise } from './api/promises.ts'
import { newKeyFile as newKeyFileSteps, signerFrom as signerOf, signerIn } from './ledger/key-file.ts'
import type { Signer } from './ledger/keys.ts'
import { task } from './result/steps.ts'
import { toError } from './result/typed.ts'

/**
 * A signer with a private Ed25519 key in PEM (PKCS #8), as `palimpsest audit init` and `openssl genpkey -algorithm ed25519` write it. Throws
 * `InvalidInput`.
 */
export const signerFrom = (pem: string): Signer => {
  const signer = signerOf(pem)
  if (E.isLeft(signer)) throw toError(signer.left)
  return signer.right
}

/** The signer whose key is in a file that only its owner can read. Rejects with `InvalidInput`. */
export const keyFile = (file: string): Promise<Signer> => toPromise(task(() => signerIn(file)))

/** Makes a key in a new file that only its owner can read. Rejects with `InvalidInput` if there is such a file. */
export const newKeyFile = (file: string): Promise<Signer> => toPromise(task(() => newKeyFileSteps(file)))

export { checkConsistency, checkInclusion } from './ledger/checks.ts'
export { parseCheckpoint } from './ledger/checkpoints.ts'
export { parseEntry } from './ledger/entries.ts'
export { leafHash } from './ledger/hashes.ts'
export { keyText, parseKey, verifierKey } from './ledger/keys.ts'
export { parseNote, signersOf } from './ledger/notes.ts'
export { fileAnchor } from './ledger/anchors/file.ts'
export { gitAnchor } from './ledger/anchors/git.ts'
export { storeAnchor } from './ledger/anchors/store.ts'
export { timestampAnchor } from './ledger/anchors/timestamp.ts'
export { witnessAnchor } from './ledger/anchors/witness.ts'
export type { Anchor, Anchoring } from './ledger/anchors.ts'
export type { TimestampOptions } from './ledger/anchors/timestamp.ts'
export type { WitnessOptions } from './ledger/anchors/witness.ts'
export type { Head, Inclusion } from './ledger/checks.ts'
export type { Checkpoint } from './ledger/checkpoints.ts'
export type { Entry } from './ledger/entries.ts'
export type { KeyUse, Signer, VerifierKey } from './ledger/keys.ts'
export type { Note, NoteSignature } from './ledger/notes.ts'
