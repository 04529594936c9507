import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { ok, type Steps } from '../result/steps.ts'
import { checkpointText } from './checkpoints.ts'
import { type KeyMismatch, keyMismatch } from './errors.ts'
import { keyText, type Signer, type VerifierKey, verifierKey } from './keys.ts'
import type { Ledger } from './log.ts'
import { noteText, signed, signersOf } from './notes.ts'
import { type Edge, edgeRoot } from './tiles.ts'

/** The key that signs now. */
export const signingKey = ({ keys }: Ledger): VerifierKey => (keys.at(-1) as Ledger['keys'][number]).key

/** Fails unless the signer has the key that the ledger is signed with. */
export const checkSigner = (ledger: Ledger, signer: Signer): E.Either<KeyMismatch, void> => {
  const expected = keyText(signingKey(ledger))
  const actual = keyText(verifierKey(ledger.origin, signer.publicKey))
  return actual === expected ? E.right(undefined) : E.left(keyMismatch(expected, actual))
}

/** The checkpoint of a ledger that has grown to that edge: a signed note. What the signer answers is verified. */
export async function* checkpointOf(origin: string, edge: Edge, signer: Signer): Steps<InvalidInput, string> {
  const text = checkpointText({ origin, size: edge.size, root: edgeRoot(edge) })
  const note = await signed(text, origin, signer)
  const signers = yield* ok(signersOf(note, [verifierKey(origin, signer.publicKey)]))
  return signers.length === 1
    ? noteText(note)
    : yield invalidInput('signer', 'signed with another key than its public one')
}
