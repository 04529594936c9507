import * as E from 'fp-ts/lib/Either.js'
import { checkInclusion } from '../ledger/checks.ts'
import { readCheckpoint } from '../ledger/checkpoints.ts'
import { leafHash } from '../ledger/hashes.ts'
import { parseKey, type VerifierKey } from '../ledger/keys.ts'
import { isSignedBy } from '../ledger/notes.ts'
import {
  Broken,
  bytesIn,
  field,
  listIn,
  Malformed,
  need,
  numberIn,
  parse,
  textFrom,
  textIn,
} from './broken.ts'
import { files, type Manifest } from './manifest.ts'

/** @returns why the bundle is not proven, if it is not */
export const checkLedger = async (
  folder: string,
  manifest: Manifest,
  { sealed, key }: { readonly sealed: string | undefined; readonly key: VerifierKey | undefined },
): Promise<string | undefined> => {
  const place = manifest.ledger
  if (place === undefined) return `there is no ledger: ${anybody}`
  if (!key) return `no key was given: ${anybody}`
  const keys = listIn(field(parse(await bytesIn(folder, files.keys)), 'rotations'))
  const newest = keys.reduce<VerifierKey>(replaced, key)
  if (sealed === undefined) throw new Broken('the event that the ledger names is not here')
  const { conversation, first, last } = manifest
  const note = textFrom(await bytesIn(folder, files.checkpoint))
  checkLeaf(`${conversation}\n${place.revision}\n${sealed}\n`, note, place, newest)
  const newer = last - first - place.revision
  return newer === 0 ? undefined : `the last ${newer} events are newer than what the ledger holds`
}

const anybody = 'whoever can write to the store could have made all of this'

/** The key that a rotation proves, given the one before it. */
const replaced = (key: VerifierKey, rotation: unknown): VerifierKey => {
  const next = textIn(field(rotation, 'key'))
  try {
    checkLeaf(`key\n${next}\n`, textIn(field(rotation, 'checkpoint')), rotation, key)
  } catch (error) {
    // It is of keys before the one that was given.
    if (error instanceof Broken) return key
    throw error
  }
  const parsed = parseKey(next)
  if (E.isLeft(parsed) || parsed.right.use !== 'log') throw new Malformed()
  return parsed.right
}

/** The key has signed the note, and the leaf is in its tree. */
const checkLeaf = (leaf: string, text: string, place: unknown, key: VerifierKey): void => {
  const read = readCheckpoint(text)
  if (E.isLeft(read)) throw new Malformed()
  const { note, checkpoint } = read.right
  const { origin, size, root } = checkpoint
  const isSigned = origin === key.name && isSignedBy(note, [key])
  need(isSigned, 'the checkpoint of the ledger is not signed by the key that was given')
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
