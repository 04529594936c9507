import * as E from 'fp-ts/lib/Either.js'
import { keyText, type VerifierKey } from '../../audit/ledger/keys.ts'
import { cosignatureTime, isSignedBy } from '../../audit/ledger/notes.ts'
import { checkpointIn } from './checkpoint.ts'

/** A witness and the time at which it signed the checkpoint of a bundle; `time` is undefined if the witness has not signed. */
export interface WitnessStatus {
  readonly witness: string
  /** Time of the signature, ISO 8601, UTC. */
  readonly time: string | undefined
}

/** Returns the status of each witness for the checkpoint in the folder of a bundle. */
export const witnessStatuses = async (
  folder: string,
  witnesses: readonly VerifierKey[],
): Promise<readonly WitnessStatus[]> => {
  if (witnesses.length === 0) return []
  const note = await checkpointIn(folder)
  return witnesses.map((key) => {
    if (E.isLeft(note) || !isSignedBy(note.right, [key])) return { witness: keyText(key), time: undefined }
    const own = note.right.signatures.find(({ name, id }) => name === key.name && id === key.id)
    const seconds = own && cosignatureTime(own.signature)
    return { witness: keyText(key), time: new Date((seconds ?? 0) * 1_000).toISOString() }
  })
}
