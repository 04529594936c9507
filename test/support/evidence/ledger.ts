import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { BundleProof } from '../../../src/audit/evidence/manifest.ts'
import { checkpointText } from '../../../src/audit/ledger/checkpoints.ts'
import { entryText } from '../../../src/audit/ledger/entries.ts'
import { leafHash } from '../../../src/audit/ledger/hashes.ts'
import { keyText, publicBytes, type Signer, verifierKey } from '../../../src/audit/ledger/keys.ts'
import { noteText, signNote } from '../../../src/audit/ledger/notes.ts'
import { inclusionProof } from '../../../src/audit/ledger/proofs.ts'
import { edgeRoot, emptyEdge, grown, hashFrom, rowsOf } from '../../../src/audit/ledger/tiles.ts'
import { right } from '../either.ts'

// A ledger in memory, of fewer leaves than fill a tile.

export interface Head {
  /** As a leaf names its stream. */
  readonly name: string
  readonly revision: number
  readonly head: string
  /** In the conversation. */
  readonly position: number
}

export interface SmallLedger {
  /** The key that an auditor had from the beginning. */
  readonly pinned: string
  /** The proof of what has these heads. */
  readonly proofOf: (heads: readonly Head[]) => BundleProof
}

const origin = 'example.com/ledger'
const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey
const signerOf = (key: KeyObject): Signer => ({
  publicKey: publicBytes(key) as Buffer,
  sign: (message) => Promise.resolve(sign(null, message, key)),
})

/** @param rotated after how many of the heads the key is replaced; never by default */
export const ledgerOf = async (heads: readonly Head[], rotated?: number): Promise<SmallLedger> => {
  const [first, second] = [signerOf(newKey()), signerOf(newKey())]
  const [old, next] = [first, second].map(({ publicKey }) => keyText(verifierKey(origin, publicKey)))
  const entries = heads.map(textOf)
  if (rotated !== undefined)
    entries.splice(rotated, 0, right(entryText({ type: 'key', key: next as string })))
  const leaves = entries.map((text) => leafHash(text))
  const checkpoint = async (size: number, signer: Signer): Promise<string> => {
    const { edge } = grown(emptyEdge, leaves.slice(0, size))
    return noteText(await signNote(checkpointText({ origin, size, root: edgeRoot(edge) }), origin, signer))
  }
  const rows = rowsOf(leaves)
  const proofIn = (size: number, index: number): readonly string[] =>
    inclusionProof(
      size,
      index,
      hashFrom(() => rows),
    ).map((hash) => hash.toString('base64'))
  const keys: BundleProof['keys'][number][] = [{ key: old as string, after: 0 }]
  if (rotated !== undefined)
    keys.push({
      key: next as string,
      after: rotated + 1,
      rotation: {
        index: rotated,
        proof: proofIn(rotated + 1, rotated),
        checkpoint: await checkpoint(rotated + 1, first),
      },
    })
  const newest = await checkpoint(leaves.length, rotated === undefined ? first : second)
  return {
    pinned: old as string,
    proofOf: (own) => {
      const placed = own
        .map(({ head: _head, ...place }, n) => ({ ...place, index: entries.indexOf(textOf(own[n] as Head)) }))
        .map((entry) => ({ ...entry, proof: proofIn(leaves.length, entry.index) }))
        .toSorted((a, b) => a.index - b.index)
      const sealed = '2026-11-28T12:00:00.000Z'
      return { entries: placed, sealed, size: leaves.length, checkpoint: newest, keys }
    },
  }
}

const textOf = ({ name, revision, head }: Head): string =>
  right(entryText({ type: 'head', name, revision, head }))
