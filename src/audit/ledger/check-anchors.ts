import * as E from 'fp-ts/lib/Either.js'
import { catchTyped, unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import type { Anchor } from './anchors.ts'
import { type LedgerCheckpoint, readCheckpoint } from './checkpoints.ts'
import {
  type AnchorAhead,
  anchorAhead,
  type AnchorFailed,
  anchorFailed,
  type LedgerError,
  ledgerDamaged,
} from './errors.ts'
import { anchorsStream } from './facts.ts'
import type { Ledger } from './log.ts'
import type { Nodes } from './nodes.ts'
import { isSignedBy } from './notes.ts'
import { dataOf, record, type FactWriter } from './stored-facts.ts'

/** Result of giving a checkpoint to an anchor. */
export interface AnchorResult {
  readonly anchor: string
  /** Error from sending the checkpoint to the anchor or recording the anchor's answer; absent on success. */
  readonly error?: AnchorFailed | AnchorAhead
}

/** Parses a checkpoint that is stored outside the store. Fails unless a key of the ledger signed it. */
export async function* readHeldCheckpoint(
  { origin, keys }: Ledger,
  text: string,
): Fallible<LedgerError, LedgerCheckpoint> {
  const { note, checkpoint } = yield* unwrap(readCheckpoint(text))
  const verifiers = keys.map(({ key }) => key)
  return checkpoint.origin === origin && isSignedBy(note, verifiers)
    ? checkpoint
    : yield ledgerDamaged(origin, 'a checkpoint stored elsewhere is not signed by any key of this ledger')
}

/** Fails if an anchor holds a checkpoint of another ledger with this origin, or of a later state of this ledger. */
export async function* checkAnchors(
  nodes: Nodes,
  ledger: Ledger,
  anchors: readonly Anchor[],
): Fallible<LedgerError | AnchorAhead | AnchorFailed, void> {
  for (const anchor of anchors) {
    const note = largestOf(yield* unwrap(anchor.held(ledger.origin)))
    if (note !== undefined)
      yield* checkHeld(nodes, ledger, anchor.name, yield* readHeldCheckpoint(ledger, note))
  }
}

/** Returns the checkpoint with the most entries. With several sealers, the last note may come from the slowest one. */
const largestOf = (notes: readonly string[]): string | undefined => {
  let [largest, most]: [string | undefined, number] = [undefined, -1]
  for (const note of notes) {
    const read = readCheckpoint(note)
    if (E.isRight(read) && read.right.checkpoint.size >= most)
      [largest, most] = [note, read.right.checkpoint.size]
  }
  return largest
}

async function* checkHeld(
  nodes: Nodes,
  ledger: Ledger,
  anchor: string,
  { size, root }: LedgerCheckpoint,
): Fallible<LedgerError | AnchorAhead, void> {
  if (size > ledger.edge.size) return yield anchorAhead(anchor, size, ledger.edge.size)
  if (size > 0 && !(yield* nodes.rootAt(ledger, size)).equals(root))
    return yield ledgerDamaged(
      ledger.origin,
      `its first ${size} entries differ from those that ${anchor} has seen`,
    )
}

/**
 * A checkpoint that was given to an anchor: the anchor's answer, the time of the checkpoint, and the time at which the answer was
 * recorded.
 */
export interface AnchoredCheckpoint {
  readonly anchor: string
  readonly size: number
  readonly checkpoint: string
  readonly time: string
  readonly recorded: string
}

/** Yields the checkpoints that were given to anchors, newest first. */
export async function* anchorsOf(
  store: EventStore,
  { number }: Pick<Ledger, 'number'>,
): AsyncGenerator<AnchoredCheckpoint, void> {
  for await (const event of backwards(store, anchorsStream(number))) {
    const { data, time } = await orThrow(run(dataOf(await orThrow(event), 'LedgerAnchored')))
    yield { ...data, time: data.sealed ?? time, recorded: time }
  }
}

/** Gives the last checkpoint to the anchors that lack it and records their answers. */
export const anchorCheckpoint = async (
  sealing: FactWriter & { readonly nodes: Nodes },
  ledger: Ledger,
  anchors: readonly Anchor[],
): Promise<readonly AnchorResult[]> => {
  const { origin, number, checkpoint, edge, sealed } = ledger
  const outcomes: AnchorResult[] = []
  const given = await givenLast(sealing.store, ledger)
  for (const anchor of checkpoint === undefined ? [] : anchors) {
    if (await hasIt(anchor, ledger, given.get(anchor.name))) {
      outcomes.push({ anchor: anchor.name })
      continue
    }
    const consistency = (old: number) => orThrow(run(sealing.nodes.consistency(ledger, edge.size, old)))
    const put = await anchor.put({ origin, size: edge.size, checkpoint: checkpoint ?? '', consistency })()
    const { name } = anchor
    if (E.isLeft(put)) outcomes.push({ anchor: name, error: put.left })
    else {
      const data = {
        anchor: name,
        size: edge.size,
        checkpoint: put.right,
        ...(sealed !== undefined && { sealed }),
      }
      const kept = await run(record(sealing, anchorsStream(number), { type: 'LedgerAnchored', data }))
      const error = E.isLeft(kept)
        ? anchorFailed(name, `has the checkpoint, but ${kept.left.message}`, kept.left)
        : undefined
      outcomes.push({ anchor: name, ...(error && { error }) })
    }
  }
  return outcomes
}

/** Returns the answers of the anchors that already have the last checkpoint, by anchor name. */
const givenLast = async (
  store: EventStore,
  ledger: Ledger,
): Promise<ReadonlyMap<string, AnchoredCheckpoint>> => {
  const given = new Map<string, AnchoredCheckpoint>()
  const reading = catchTyped<LedgerError, void>(async () => {
    for await (const last of anchorsOf(store, ledger)) {
      if (last.size !== ledger.edge.size) return
      if (!given.has(last.anchor)) given.set(last.anchor, last)
    }
  })
  // A record that cannot be read counts as not given: at worst, the checkpoint is given again.
  await run(reading)
  return given
}

/**
 * Reports whether an anchor has the last checkpoint. The store's record alone is not sufficient: people who can write to the store
 * could keep the checkpoint from the anchor.
 */
const hasIt = async (
  { held, verify }: Anchor,
  { origin, checkpoint = '' }: Ledger,
  given: AnchoredCheckpoint | undefined,
): Promise<boolean> => {
  if (!given) return false
  const notes = verify
    ? E.map((note: string) => [note])(await verify(given.checkpoint, given.recorded)())
    : await held(origin)()
  return E.isRight(notes) && notes.right.some((note) => textIn(note) === textIn(checkpoint))
}

const textIn = (source: string): string | undefined => {
  const read = readCheckpoint(source)
  return E.isRight(read) ? read.right.note.text : undefined
}
