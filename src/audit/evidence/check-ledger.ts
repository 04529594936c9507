import * as E from 'fp-ts/lib/Either.js'
import { isConversationId, turnsStreamOf } from '../../events/ids.ts'
import { nameOf } from '../ledger/entries.ts'
import { signersOf } from '../ledger/notes.ts'
import { checkInclusion } from '../ledger/checks.ts'
import { type LedgerCheckpoint, readCheckpoint } from '../ledger/checkpoints.ts'
import { leafHash } from '../ledger/hashes.ts'
import { keyText, parseKey, type VerifierKey } from '../ledger/keys.ts'
import {
  BrokenBundleError,
  bytesIn,
  field,
  listIn,
  BundleFormatError,
  inFile,
  requireThat,
  UncheckedBundleError,
  numberIn,
  parse,
  textFrom,
  textIn,
} from './bundle-errors.ts'
import { linesOf } from './lines.ts'
import { files } from './manifest.ts'
import type { FirstPlace, ReadManifest, SecondPlace } from './read-manifest.ts'

/** Verified facts about the ledger in which a bundle is sealed. */
export interface SealedIn {
  readonly origin: string
  /** The verifier key that signed the checkpoint: the given key or one that replaced it. */
  readonly key: string
  /** Number of ledger entries at the checkpoint. */
  readonly size: number
  /** Number of ledger entries for events in this bundle. */
  readonly entries: number
  /** Time of the checkpoint by the store's clock; it is not signed. Absent in bundle format 1. */
  readonly sealed?: string
}

export interface LedgerCheckResult {
  readonly ledger?: SealedIn
  /**
   * Numbers of leading events proven by the ledger. `events`: events of the conversation, including those before a fork; `turns`:
   * events recorded by its turns.
   */
  readonly proven: { readonly events: number; readonly turns: number }
  /** Reason why the bundle is unproven; absent if it is proven. */
  readonly problem?: string
}

/** Hashes of all events in the bundle. */
export interface ChainHashes {
  readonly events: readonly string[]
  readonly turns: readonly string[]
}

const nothing = { events: 0, turns: 0 }

export const checkLedger = async (
  folder: string,
  manifest: ReadManifest,
  hashes: ChainHashes,
  key: VerifierKey | undefined,
): Promise<LedgerCheckResult> => {
  const { ledger: place, first, last } = manifest
  if (place === undefined) return { proven: nothing, problem: `there is no ledger: ${anybody}` }
  if (!key) return { proven: nothing, problem: `no key was given: ${anybody}` }
  const newest = await inFile(files.keys, async () => {
    const rotations = listIn(field(parse(await bytesIn(folder, files.keys)), 'rotations'))
    return rotations.reduce<VerifierKey>(replaced, key)
  })
  const tree = await inFile(files.checkpoint, async () => {
    const note = textFrom(await bytesIn(folder, files.checkpoint))
    requireThat(note !== '', `${files.checkpoint} is empty`)
    return checkNote(note, newest)
  })
  const proven = await inFile(manifest.isSecond ? files.entries : files.manifest, async () =>
    checkEntries(await entriesIn(folder, manifest, place), manifest, hashes, tree),
  )
  const { origin, size } = tree
  const made = 'sealed' in place ? { entries: place.entries, sealed: place.sealed } : { entries: 1 }
  const ledger = { origin, key: keyText(newest), size, ...made }
  const newer = last + 1 - Math.max(proven.events, first)
  const newerTurns = hashes.turns.length - proven.turns
  const [count, ofWhat] = newer > 0 ? [newer, ''] : [newerTurns, ' of its turns']
  const what = count === 1 ? `event${ofWhat} is` : `${count} events${ofWhat} are`
  return {
    ledger,
    proven,
    ...(count > 0 && { problem: `the last ${what} newer than the ledger` }),
  }
}

/** Returns the ledger entries of a bundle. In format 1, the manifest contains the only entry. */
const entriesIn = async (
  folder: string,
  { conversation, first }: ReadManifest,
  place: FirstPlace | SecondPlace,
): Promise<readonly unknown[]> => {
  if ('revision' in place) return [{ ...place, name: conversation, position: first + place.revision }]
  const entries = (await linesOf(folder, files.entries)).map((line) => parse(line))
  requireThat(entries.length === place.entries, 'bundle.json contradicts entries.jsonl: entries')
  return entries
}

/** Checks that each entry refers to an event in the bundle and is in the ledger's Merkle tree. */
const checkEntries = (
  entries: readonly unknown[],
  { conversation, first }: ReadManifest,
  { events, turns }: ChainHashes,
  tree: LedgerCheckpoint,
): LedgerCheckResult['proven'] => {
  const ofTurns = nameOf(turnsStreamOf(conversation))
  const sealed = new Map<string, number>()
  let before = -1
  for (const entry of entries) {
    const name = textIn(field(entry, 'name'))
    const [revision, position] = [numberIn(field(entry, 'revision')), numberIn(field(entry, 'position'))]
    const index = numberIn(field(entry, 'index'))
    const isPlaced =
      name === conversation
        ? position === revision + first
        : name === ofTurns
          ? position === revision
          : position < first && revision <= position && isConversationId(name)
    requireThat(isPlaced && index > before, 'entries.jsonl has an entry in the wrong place')
    const hash = (name === ofTurns ? turns : events)[position]
    if (hash === undefined)
      throw new BrokenBundleError(`entry ${index} of the ledger is for an event that is not in the bundle`)
    checkLeaf(`${name}\n${revision}\n${hash}\n`, tree, entry)
    sealed.set(name, Math.max(sealed.get(name) ?? 0, revision + 1))
    before = index
  }
  const own = sealed.get(conversation)
  return { events: own === undefined ? 0 : first + own, turns: sealed.get(ofTurns) ?? 0 }
}

const anybody = 'anyone who can write to the store could have fabricated all of this'

/** Returns the rotation's key if `key` signed the rotation, otherwise `key`. */
const replaced = (key: VerifierKey, rotation: unknown): VerifierKey => {
  const next = textIn(field(rotation, 'key'))
  try {
    checkLeaf(`key\n${next}\n`, checkNote(textIn(field(rotation, 'checkpoint')), key), rotation)
  } catch (error) {
    // The rotation is older than the given key.
    if (error instanceof BrokenBundleError || error instanceof UncheckedBundleError) return key
    throw error
  }
  const parsed = parseKey(next)
  if (E.isLeft(parsed) || parsed.right.use !== 'log') throw new BundleFormatError()
  return parsed.right
}

/** Parses a checkpoint and checks that `key` signed it. */
const checkNote = (text: string, key: VerifierKey): LedgerCheckpoint => {
  const read = readCheckpoint(text)
  if (E.isLeft(read)) throw new BundleFormatError()
  const { note, checkpoint } = read.right
  const signers = signersOf(note, [key])
  requireThat(
    E.isLeft(signers) || signers.right.length > 0,
    `the checkpoint is not signed by key ${key.id} of ${key.name}: the key belongs to another ledger or time`,
    UncheckedBundleError,
  )
  const isSigned = checkpoint.origin === key.name && E.isRight(signers)
  requireThat(isSigned, 'the checkpoint was changed after it was signed with this key, or forged')
  return checkpoint
}

/** Checks that the leaf is in the ledger's Merkle tree. */
const checkLeaf = (leaf: string, { size, root }: LedgerCheckpoint, place: unknown): void => {
  const index = numberIn(field(place, 'index'))
  const proof = listIn(field(place, 'proof'))
  const isIn = checkInclusion({ leaf: leafHash(leaf), index, size, root, proof: proof.map(decoded) })
  requireThat(isIn, `entry ${index} of the signed ledger does not match the bundle`)
}

const decoded = (text: unknown): Buffer => {
  const bytes = Buffer.from(String(text), 'base64')
  if (bytes.toString('base64') !== text) throw new BundleFormatError()
  return bytes
}
