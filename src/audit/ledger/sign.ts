import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { Fallible } from '../../result/fallible.ts'
import { checkpointText, readCheckpoint } from './checkpoints.ts'
import { type KeyMismatch, keyMismatch, type LedgerDamaged, ledgerDamaged } from './errors.ts'
import { keyText, type Signer, type VerifierKey, verifierKey } from './keys.ts'
import type { Ledger } from './log.ts'
import { isSignedBy, type NoteSignature, noteText, signNote } from './notes.ts'
import { type Edge, edgeRoot } from './tiles.ts'

export const currentKey = ({ keys }: Pick<Ledger, 'keys'>): VerifierKey =>
  (keys.at(-1) as Ledger['keys'][number]).key

/**
 * Fails unless the signer has the ledger's current key and has signed its last checkpoint. Otherwise someone else with write access
 * could have added entries, and the next checkpoint would confirm them.
 */
export const checkSigner = (
  { origin, keys, checkpoint }: Ledger,
  signer: Signer,
): E.Either<KeyMismatch | LedgerDamaged, void> => {
  const own = verifierKey(origin, signer.publicKey)
  const [expected, actual] = [keyText(currentKey({ keys })), keyText(own)]
  if (actual !== expected)
    return E.left(
      keyMismatch(
        expected,
        actual,
        keys.some(({ key }) => keyText(key) === actual),
      ),
    )
  return checkpoint === undefined || hasSigned(own, checkpoint)
    ? E.right(undefined)
    : E.left(
        ledgerDamaged(
          origin,
          'its last checkpoint is not signed with its key, so somebody else may have added entries',
        ),
      )
}

/** Reports whether a key has signed a checkpoint of its ledger. */
export const hasSigned = (key: VerifierKey, text: string): boolean =>
  pipe(
    readCheckpoint(text),
    E.exists(({ note, checkpoint }) => checkpoint.origin === key.name && isSignedBy(note, [key])),
  )

/** Returns the checkpoint of a ledger at this edge, as a note signed by all signers. Each signature is verified. */
export async function* checkpointOf(
  origin: string,
  edge: Edge,
  signers: readonly Signer[],
): Fallible<InvalidInput, string> {
  const text = checkpointText({ origin, size: edge.size, root: edgeRoot(edge) })
  const signatures: NoteSignature[] = []
  for (const signer of signers) {
    const note = await signNote(text, origin, signer)
    if (!isSignedBy(note, [verifierKey(origin, signer.publicKey)]))
      return yield invalidInput('signer', 'made a signature that does not match its public key')
    signatures.push(...note.signatures)
  }
  return noteText({ text, signatures })
}
