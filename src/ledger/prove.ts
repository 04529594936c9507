import * as E from 'fp-ts/lib/Either.js'
import { loadLineage } from '../history/lineage.ts'
import { caught, ok, orThrow, type Steps } from '../result/steps.ts'
import type { EventStore } from '../store/port.ts'
import { anchoredIn } from './anchoring.ts'
import { checkInclusion } from './checks.ts'
import { readCheckpoint } from './checkpoints.ts'
import { turnsStreamOf } from '../events/ids.ts'
import { entryText, nameOf, ownerOf } from './entries.ts'
import {
  type LedgerError,
  ledgerDamaged,
  notSealed,
  type ProofError,
  type SealContradicted,
  sealContradicted,
} from './errors.ts'
import { leafHash } from './hashes.ts'
import { differenceFrom, type HeadEntry, headsOf } from './heads.ts'
import { keyText } from './keys.ts'
import { type Ledger, loadLedger } from './log.ts'
import type { Nodes } from './nodes.ts'
import { ofTurns } from './verify.ts'
import { type Note, type NoteSignature, noteText, parseNote } from './notes.ts'

/** That a conversation is in the ledger, in texts that need nothing else to be checked. */
export interface LedgerProof {
  readonly conversation: string
  /** Of the last event that is sealed, in the conversation's own stream, and its hash (`hashOf`). */
  readonly revision: number
  readonly head: string
  /** Of the entry, and of the ledger at the checkpoint. */
  readonly index: number
  readonly size: number
  /** The inclusion proof (RFC 9162), each hash in base64. */
  readonly proof: readonly string[]
  /** A signed note with all cosignatures: the newest that an anchor has, if the entry is in it. */
  readonly checkpoint: string
  /** The keys of the ledger, in order. */
  readonly keys: readonly ProofKey[]
}

/** A key of a ledger. */
export interface ProofKey {
  /** A verifier key. */
  readonly key: string
  /** It signs checkpoints of more entries than this. */
  readonly after: number
  /** Of a later key: the entry in which the one before made it known. */
  readonly rotation?: Inclusion
}
interface Inclusion {
  readonly index: number
  readonly size: number
  readonly proof: readonly string[]
  readonly checkpoint: string
}

const base64 = (hashes: readonly Buffer[]): readonly string[] => hashes.map((hash) => hash.toString('base64'))

/** How a proof is made. */
export interface ProofOptions {
  /**
   * Whether every entry of the ledger for the conversation, and for those that it was forked from, is compared with the store first: reads
   * the whole ledger. Without it, only what was sealed last is looked up, and nothing is compared.
   */
  readonly compare?: boolean | undefined
}

/** The proof that a conversation is in the ledger, as far as it was sealed last. */
export async function* proofOf(
  { store, nodes }: { readonly store: EventStore; readonly nodes: Nodes },
  conversation: string,
  { compare = false }: ProofOptions = {},
): Steps<ProofError, LedgerProof> {
  const ledger = yield* loadLedger(store)
  if (compare) yield* compareAll(store, ledger, conversation)
  const latest = yield* caught<LedgerError, HeadEntry | undefined>(async () => {
    for await (const entry of headsOf(store, ledger, conversation)) return entry
    return undefined
  })
  if (!latest) return yield notSealed(conversation)
  const { index, revision, head } = latest
  const text = yield* ok(entryText({ type: 'head', name: conversation, revision, head }))
  const checkpoint = yield* bestCheckpoint(store, ledger, index)
  const proven = yield* inclusionIn(nodes, ledger, { index, text, checkpoint })
  return { conversation, revision, head, ...proven, keys: yield* proofKeys(nodes, ledger) }
}

/** Ends with `SealContradicted` where the store is not what the ledger has of a conversation and of those that it was forked from. */
async function* compareAll(store: EventStore, ledger: Ledger, id: string): Steps<ProofError, void> {
  const lineage = await loadLineage(store, id)
  // What is missing of it is told by whoever reads it.
  if (E.isLeft(lineage)) return
  const own = { name: nameOf(turnsStreamOf(id)), offset: 0, last: Infinity }
  const stretches = (lineage.right ?? []).map(({ conversation, ...stretch }) => ({
    ...stretch,
    name: conversation,
  }))
  for (const { name, offset, last } of [...stretches, own]) {
    const found = yield* caught<ProofError, SealContradicted | undefined>(async () => {
      for await (const entry of headsOf(store, ledger, name)) {
        const { revision } = entry
        const difference = offset + revision > last ? undefined : await differenceFrom(store, name, entry)
        if (!difference) continue
        const message = name === own.name ? ofTurns(difference.message) : difference.message
        return sealContradicted(ownerOf(name), revision, message)
      }
      return undefined
    })
    if (found) return yield found
  }
}

/** The keys of a ledger, each but the first with the proof that the one before made it known. */
export async function* proofKeys(nodes: Nodes, ledger: Ledger): Steps<LedgerError, readonly ProofKey[]> {
  const keys: ProofKey[] = []
  for (const { key, after, rotation } of ledger.keys) {
    const text = keyText(key)
    const proven = rotation && (yield* inclusionIn(nodes, ledger, { ...rotation, text: `key\n${text}\n` }))
    keys.push({ key: text, after, ...(proven && { rotation: proven }) })
  }
  return keys
}

async function* inclusionIn(
  nodes: Nodes,
  ledger: Ledger,
  { index, text, checkpoint }: { readonly index: number; readonly text: string; readonly checkpoint: string },
): Steps<LedgerError, Inclusion> {
  const { size, root } = (yield* ok(readCheckpoint(checkpoint))).checkpoint
  if (index >= size || size > ledger.edge.size)
    return yield ledgerDamaged(
      ledger.origin,
      `a checkpoint of ${size} entries was kept elsewhere, and it has ${ledger.edge.size}: entries were removed`,
    )
  const proof = yield* nodes.inclusion(ledger, size, index)
  if (!checkInclusion({ leaf: leafHash(text), index, size, root, proof }))
    return yield ledgerDamaged(ledger.origin, `entry ${index} is not in its checkpoint of ${size} entries`)
  return { index, size, proof: base64(proof), checkpoint }
}

/** The newest checkpoint that an anchor has, if it covers the entry, with the signatures of all, of each signer the first; otherwise the newest. */
async function* bestCheckpoint(store: EventStore, ledger: Ledger, index: number): Steps<LedgerError, string> {
  const notes = yield* caught<LedgerError, readonly Note[]>(async () => {
    const all: Note[] = []
    let newest = index + 1
    for await (const { size, checkpoint } of anchoredIn(store, ledger)) {
      if (size < newest) break
      newest = size
      all.push(await orThrow(parseNote(checkpoint)))
    }
    return all
  })
  const [first] = notes
  if (!first) return ledger.checkpoint ?? ''
  const lines = new Map<string, NoteSignature>()
  for (const { text, signatures } of notes.toReversed())
    if (text === first.text)
      for (const each of signatures) {
        const key = `${each.name}\n${each.id}`
        if (!lines.has(key)) lines.set(key, each)
      }
  return noteText({ text: first.text, signatures: [...lines.values()] })
}
