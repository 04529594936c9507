import * as E from 'fp-ts/lib/Either.js'
import { signersOf } from '../ledger/notes.ts'
import { checkInclusion } from '../ledger/checks.ts'
import { type Checkpoint, readCheckpoint } from '../ledger/checkpoints.ts'
import { leafHash } from '../ledger/hashes.ts'
import { keyText, parseKey, type VerifierKey } from '../ledger/keys.ts'
import {
  Broken,
  bytesIn,
  field,
  listIn,
  Malformed,
  need,
  NotChecked,
  numberIn,
  parse,
  textFrom,
  textIn,
} from './broken.ts'
import { files, type Manifest } from './manifest.ts'

/** The ledger that a bundle is sealed in, as far as it was verified. */
export interface SealedIn {
  readonly origin: string
  /** The verifier key that has signed the checkpoint: the one that was given, or one that followed it. */
  readonly key: string
  /** Entries at the checkpoint. */
  readonly size: number
}

export interface LedgerChecked {
  readonly ledger?: SealedIn
  /** Why the bundle is not proven, if it is not. */
  readonly problem?: string
}

export const checkLedger = async (
  folder: string,
  manifest: Manifest,
  { sealed, key }: { readonly sealed: string | undefined; readonly key: VerifierKey | undefined },
): Promise<LedgerChecked> => {
  const place = manifest.ledger
  if (place === undefined) return { problem: `there is no ledger: ${anybody}` }
  if (!key) return { problem: `no key was given: ${anybody}` }
  const keys = listIn(field(parse(await bytesIn(folder, files.keys)), 'rotations'))
  const newest = keys.reduce<VerifierKey>(replaced, key)
  const tree = checkNote(textFrom(await bytesIn(folder, files.checkpoint)), newest)
  if (sealed === undefined) throw new Broken('the event that the ledger names is not here')
  const { conversation, first, last } = manifest
  checkLeaf(`${conversation}\n${place.revision}\n${sealed}\n`, tree, place)
  const newer = last - first - place.revision
  const ledger = { origin: tree.origin, key: keyText(newest), size: tree.size }
  return newer === 0
    ? { ledger }
    : { ledger, problem: `the last ${newer} events are newer than what the ledger holds` }
}

const anybody = 'whoever can write to the store could have made all of this'

/** The key that a rotation proves, given the one before it. */
const replaced = (key: VerifierKey, rotation: unknown): VerifierKey => {
  const next = textIn(field(rotation, 'key'))
  try {
    checkLeaf(`key\n${next}\n`, checkNote(textIn(field(rotation, 'checkpoint')), key), rotation)
  } catch (error) {
    // It is of keys before the one that was given.
    if (error instanceof Broken || error instanceof NotChecked) return key
    throw error
  }
  const parsed = parseKey(next)
  if (E.isLeft(parsed) || parsed.right.use !== 'log') throw new Malformed()
  return parsed.right
}

/** The key has signed the checkpoint. */
const checkNote = (text: string, key: VerifierKey): Checkpoint => {
  const read = readCheckpoint(text)
  if (E.isLeft(read)) throw new Malformed()
  const { note, checkpoint } = read.right
  const signers = signersOf(note, [key])
  need(
    E.isLeft(signers) || signers.right.length > 0,
    `the checkpoint is not of ${key.name} and its key ${key.id}: the key is of another ledger, or of another time`,
    NotChecked,
  )
  const isSigned = checkpoint.origin === key.name && E.isRight(signers)
  need(isSigned, 'the checkpoint of the ledger is not signed by the key that was given')
  return checkpoint
}

/** The leaf is in the tree. */
const checkLeaf = (leaf: string, { size, root }: Checkpoint, place: unknown): void => {
  const index = numberIn(field(place, 'index'))
  const proof = listIn(field(place, 'proof'))
  const isIn = checkInclusion({ leaf: leafHash(leaf), index, size, root, proof: proof.map(decoded) })
  need(isIn, 'the signed ledger does not hold this conversation as it is here')
}

const decoded = (text: unknown): Buffer => {
  const bytes = Buffer.from(String(text), 'base64')
  if (bytes.toString('base64') !== text) throw new Malformed()
  return bytes
}
