import * as E from 'fp-ts/lib/Either.js'
import { loadLineage } from '../../conversation/reading/lineage.ts'
import { catchTyped, unwrap, orThrow, type Fallible } from '../../result/fallible.ts'
import type { EventStore } from '../../store/port.ts'
import { anchorsOf } from './check-anchors.ts'
import { checkInclusion } from './checks.ts'
import { readCheckpoint } from './checkpoints.ts'
import { turnsStreamOf } from '../../events/ids.ts'
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
import { type SignedNote, type NoteSignature, noteText, parseNote } from './notes.ts'

/** Self-contained proof that a conversation is in the ledger. */
export interface LedgerProof {
  readonly conversation: string
  /** Revision of the last sealed event in the conversation's stream, and its hash (`hashOf`). */
  readonly revision: number
  readonly head: string
  /** Index of the event's ledger entry, and the size of the ledger at the checkpoint. */
  readonly index: number
  readonly size: number
  /** Inclusion proof of the entry (RFC 9162), with each hash in base64. */
  readonly proof: readonly string[]
  /**
   * Checkpoint as a signed note, including any cosignatures: the newest checkpoint held by an anchor if it covers the entries,
   * otherwise the newest checkpoint of the ledger.
   */
  readonly checkpoint: string
  /** Time of the checkpoint by the store's clock (ISO 8601, UTC). It is not signed. */
  readonly sealed: string
  /**
   * All ledger entries for the conversation, for the events recorded by its turns, and for the conversations that it was forked from,
   * up to the fork, in ledger order. Present only with `entries` or `compare`.
   */
  readonly entries?: readonly ProofEntry[]
  /** Keys of the ledger, in chronological order. */
  readonly keys: readonly ProofKey[]
}

/** A ledger entry with its inclusion proof. */
export interface ProofEntry {
  /** First line of the entry's leaf: a conversation id, or `stream turns-` followed by a conversation id. */
  readonly name: string
  /** Revision of the event in its stream. */
  readonly revision: number
  /** Position of the event in the conversation, or the revision for an event recorded by its turns. */
  readonly position: number
  readonly index: number
  /** Inclusion proof of this entry, in the same form as `LedgerProof.proof`. */
  readonly proof: readonly string[]
}

/** A verifier key of a ledger, with the proof of its announcement. */
export interface ProofKey {
  /** Verifier key as text (`keyText`). */
  readonly key: string
  /** Number of entries that a checkpoint must exceed to be signed by this key. */
  readonly after: number
  /** Proof of the entry in which the previous key announced this one; absent for the first key. */
  readonly rotation?: Inclusion
}
interface Inclusion {
  readonly index: number
  readonly size: number
  readonly proof: readonly string[]
  readonly checkpoint: string
}

const base64 = (hashes: readonly Buffer[]): readonly string[] => hashes.map((hash) => hash.toString('base64'))

/** Options for a ledger proof. */
export interface ProofOptions {
  /**
   * True to first compare the store with every ledger entry for the conversation and for the conversations that it was forked from.
   * This reads the whole ledger. Otherwise only the last sealed event is looked up and nothing is compared.
   */
  readonly compare?: boolean | undefined
  /** True to include all entries, which `exportEvidence` requires. This reads the whole ledger. Implied by `compare`. */
  readonly entries?: boolean | undefined
}

/** A ledger entry with the position of its event in the conversation. */
interface PlacedEntry extends HeadEntry {
  readonly name: string
  readonly position: number
}

/** Returns the proof that a conversation is in the ledger, up to its last sealed event. */
export async function* proofOf(
  { store, nodes }: { readonly store: EventStore; readonly nodes: Nodes },
  conversation: string,
  { compare = false, entries: isAll = compare }: ProofOptions = {},
): Fallible<ProofError, LedgerProof> {
  const ledger = yield* loadLedger(store)
  const all = isAll ? yield* allEntries(store, ledger, conversation) : []
  if (compare) yield* compareAll(store, all)
  const latest = yield* catchTyped<LedgerError, HeadEntry | undefined>(async () => {
    for await (const entry of headsOf(store, ledger, conversation)) return entry
    return undefined
  })
  if (!latest) return yield notSealed(conversation)
  const { index, revision, head } = latest
  const text = yield* unwrap(entryText({ type: 'head', name: conversation, revision, head }))
  const { checkpoint, sealed } = yield* bestCheckpoint(store, ledger, all.at(-1)?.index ?? index)
  const entries: ProofEntry[] = []
  for (const entry of all) {
    const { name, revision: at, position } = entry
    const entryLeaf = yield* unwrap(entryText({ type: 'head', name, revision: at, head: entry.head }))
    const { proof } = yield* inclusionIn(nodes, ledger, { index: entry.index, text: entryLeaf, checkpoint })
    entries.push({ name, revision: at, position, index: entry.index, proof })
  }
  const proven = yield* inclusionIn(nodes, ledger, { index, text, checkpoint })
  const keys = yield* proofKeys(nodes, ledger)
  return { conversation, revision, head, ...proven, sealed, ...(isAll && { entries }), keys }
}

/**
 * Returns all ledger entries for a conversation, for the events recorded by its turns, and for the conversations that it was forked
 * from, up to the fork.
 */
async function* allEntries(
  store: EventStore,
  ledger: Ledger,
  id: string,
): Fallible<LedgerError, readonly PlacedEntry[]> {
  const lineage = await loadLineage(store, id)
  // If the lineage cannot be loaded, reading the conversation reports the error.
  const stretches = E.isRight(lineage) ? (lineage.right ?? []) : []
  const streams = [
    ...stretches.map(({ conversation: name, offset, last }) => ({ name, offset, last })),
    { name: nameOf(turnsStreamOf(id)), offset: 0, last: Infinity },
  ]
  return yield* catchTyped<LedgerError, readonly PlacedEntry[]>(async () => {
    const all: PlacedEntry[] = []
    for (const { name, offset, last } of streams)
      for await (const entry of headsOf(store, ledger, name)) {
        const position = offset + entry.revision
        if (position <= last) all.push({ ...entry, name, position })
      }
    return all.toSorted((a, b) => a.index - b.index)
  })
}

/** Fails with `SealContradicted` if an event in the store differs from its ledger entry. */
async function* compareAll(store: EventStore, entries: readonly PlacedEntry[]): Fallible<ProofError, void> {
  const found = yield* catchTyped<ProofError, SealContradicted | undefined>(async () => {
    for (const entry of entries.toReversed()) {
      const { name, revision } = entry
      const difference = await differenceFrom(store, name, entry)
      if (!difference) continue
      const owner = ownerOf(name)
      const message = owner === name ? difference.message : ofTurns(difference.message)
      return sealContradicted(owner, revision, message)
    }
    return undefined
  })
  if (found) return yield found
}

/** Returns the keys of a ledger. Each key except the first has a proof that the previous key announced it. */
export async function* proofKeys(nodes: Nodes, ledger: Ledger): Fallible<LedgerError, readonly ProofKey[]> {
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
): Fallible<LedgerError, Inclusion> {
  const { size, root } = (yield* unwrap(readCheckpoint(checkpoint))).checkpoint
  if (index >= size || size > ledger.edge.size)
    return yield ledgerDamaged(
      ledger.origin,
      `a checkpoint of ${size} entries is stored elsewhere, but the ledger has ${ledger.edge.size}: entries were removed`,
    )
  const proof = yield* nodes.inclusion(ledger, size, index)
  if (!checkInclusion({ leaf: leafHash(text), index, size, root, proof }))
    return yield ledgerDamaged(ledger.origin, `entry ${index} is not in its checkpoint of ${size} entries`)
  return { index, size, proof: base64(proof), checkpoint }
}

/**
 * Returns the newest checkpoint held by an anchor if it covers the entry, otherwise the newest checkpoint of the ledger. Combines the
 * signatures of all anchors that hold the same checkpoint, one for each signer.
 */
async function* bestCheckpoint(
  store: EventStore,
  ledger: Ledger,
  index: number,
): Fallible<LedgerError, Pick<LedgerProof, 'checkpoint' | 'sealed'>> {
  let sealed: string | undefined
  const notes = yield* catchTyped<LedgerError, readonly SignedNote[]>(async () => {
    const all: SignedNote[] = []
    let newest = index + 1
    for await (const { size, checkpoint, time } of anchorsOf(store, ledger)) {
      if (size < newest) break
      newest = size
      sealed ??= time
      all.push(await orThrow(parseNote(checkpoint)))
    }
    return all
  })
  const [first] = notes
  if (!first || sealed === undefined)
    return { checkpoint: ledger.checkpoint ?? '', sealed: ledger.sealed ?? ledger.begun }
  const lines = new Map<string, NoteSignature>()
  for (const { text, signatures } of notes.toReversed())
    if (text === first.text)
      for (const each of signatures) {
        const key = `${each.name}\n${each.id}`
        if (!lines.has(key)) lines.set(key, each)
      }
  return { checkpoint: noteText({ text: first.text, signatures: [...lines.values()] }), sealed }
}
