import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { type LedgerCheckpoint, readCheckpoint } from './checkpoints.ts'
import { parseEntry } from './entries.ts'
import { leafHash } from './hashes.ts'
import { keyText, parseKey, type VerifierKey } from './keys.ts'
import type { Batch } from './log.ts'
import { isSignedBy, type SignedNote } from './notes.ts'
import { hasSigned } from './sign.ts'
import { type CompletedTile, type Edge, edgeRoot, emptyEdge, grown } from './tiles.ts'

/** A checkpoint held by an anchor. */
export interface HeldCheckpoint extends LedgerCheckpoint {
  readonly anchor: string
  readonly note: SignedNote
}

export interface BatchVerification {
  readonly wrong: readonly LedgerFault[]
  readonly completed: readonly CompletedTile[]
  /** True if later batches cannot be checked. */
  readonly isBroken: boolean
}
export interface LedgerFault {
  readonly kind: 'ledger' | 'anchor'
  readonly message: string
}

/** A ledger rebuilt from its entries. */
export interface LedgerVerifier {
  readonly edge: () => Edge
  /** Returns the keys that have signed a checkpoint of the ledger. An announcement alone does not show that anyone has the key. */
  readonly signers: () => readonly VerifierKey[]
  /** Replays the next batch. */
  readonly take: (batch: Batch) => BatchVerification
  /** Returns the problems that can only be determined after the last batch. */
  readonly end: () => readonly LedgerFault[]
}

/**
 * Creates a verifier that replays a ledger from its first entry.
 *
 * @param held checkpoints from anchors, ordered by size
 */
export const createLedgerVerifier = (
  origin: string,
  first: VerifierKey,
  held: readonly HeldCheckpoint[],
): LedgerVerifier => {
  let edge = emptyEdge
  let reached = 0
  const keys = [first]
  const signed = new Set<VerifierKey>()

  /** Compares the ledger with the anchors' checkpoints of its current size. */
  const compared = (): readonly LedgerFault[] => {
    const wrong: LedgerFault[] = []
    for (; (held[reached]?.size ?? Infinity) <= edge.size; reached++) {
      const { size, root, anchor } = held[reached] as HeldCheckpoint
      if (size === edge.size && !root.equals(edgeRoot(edge)))
        wrong.push({
          kind: 'anchor',
          message: `the first ${size} entries differ from those that ${anchor} has seen: the ledger was rewritten`,
        })
    }
    return wrong
  }

  const signatureProblem = ({ checkpoint: text, from }: Batch): string | undefined => {
    const read = readCheckpoint(text)
    if (E.isLeft(read)) return `the checkpoint after entry ${edge.size - 1} cannot be read`
    const { note, checkpoint } = read.right
    if (checkpoint.origin !== origin || !isSignedBy(note, keys.slice(-1)))
      return `the checkpoint of ${checkpoint.size} entries is not signed with the key of the ledger`
    return checkpoint.size === edge.size && checkpoint.root.equals(edgeRoot(edge))
      ? undefined
      : `the entries from ${from} on differ from those that were signed`
  }

  const take = (batch: Batch): BatchVerification => {
    const { from, entries } = batch
    if (from !== edge.size)
      return {
        wrong: [
          ledger(
            from > edge.size
              ? `entries ${edge.size} to ${from - 1} are missing`
              : `entries from ${from} on are repeated after ${edge.size} entries`,
          ),
        ],
        completed: [],
        isBroken: true,
      }
    const wrong: LedgerFault[] = []
    const completed: CompletedTile[] = []
    for (let at = 0; at < entries.length;) {
      const stop = Math.min(entries.length, (held[reached]?.size ?? Infinity) - from)
      const next = grown(edge, entries.slice(at, stop).map(leafHash))
      edge = next.edge
      completed.push(...next.completed)
      wrong.push(...compared())
      at = stop
    }
    const unsigned = signatureProblem(batch)
    const next = entries.flatMap(keyIn)
    if (unsigned !== undefined) wrong.push(ledger(unsigned))
    else for (const key of [...keys.slice(-1), ...next]) if (hasSigned(key, batch.checkpoint)) signed.add(key)
    keys.push(...next)
    return { wrong, completed, isBroken: false }
  }

  const end = (): readonly LedgerFault[] => [
    // A new key signs the checkpoint of its announcement, and a sealer continues only from a checkpoint that its own key has signed.
    ...(keys.length === 1 || signed.has(keys.at(-1) as VerifierKey)
      ? []
      : [ledger('the current signing key has signed nothing: somebody else may have announced it')]),
    ...held.slice(reached).map(({ size, anchor }): LedgerFault => ({
      kind: 'anchor',
      message: `${anchor} has seen ${size} entries, and the ledger has ${edge.size}: the store is an older copy, or entries were removed`,
    })),
    ...held
      .filter(({ note }) => !isSignedBy(note, keys))
      .map(({ anchor, size }): LedgerFault => ({
        kind: 'anchor',
        message: `${anchor} holds a checkpoint of ${size} entries that is not signed with a key of the ledger`,
      })),
  ]
  return { edge: () => edge, signers: () => [...signed], take, end }
}

const ledger = (message: string): LedgerFault => ({ kind: 'ledger', message })

const keyIn = (text: string): readonly VerifierKey[] => {
  const key = pipe(
    parseEntry(text),
    E.flatMap((entry) => parseKey(entry.type === 'key' ? entry.key : '')),
  )
  return E.isRight(key) ? [key.right] : []
}

/** Reports whether the key `known` is among these keys. */
export const isAmong = (keys: readonly VerifierKey[], known: string): boolean =>
  keys.some((key) => keyText(key) === known)
