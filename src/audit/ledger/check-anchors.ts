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

/** Parses a checkpoint that an anchor holds. Fails unless a key of the ledger signed it. */
async function* readHeldCheckpoint(
  { origin, keys, edge }: Ledger,
  anchor: string,
  text: string,
): Fallible<LedgerError | AnchorAhead, LedgerCheckpoint> {
  const { note, checkpoint } = yield* unwrap(readCheckpoint(text))
  const verifiers = keys.map(({ key }) => key)
  if (checkpoint.origin === origin && isSignedBy(note, verifiers)) return checkpoint
  // A store restored from before its key was replaced does not know the new key.
  if (checkpoint.origin === origin && checkpoint.size > edge.size)
    return yield anchorAhead(anchor, checkpoint.size, edge.size, true)
  return yield ledgerDamaged(
    origin,
    `the last checkpoint in ${anchor} is not signed by any key of this ledger`,
  )
}

/** The anchors that receive checkpoints, and the store that records what they have received. */
export interface AnchorContext extends FactWriter {
  readonly nodes: Nodes
  readonly anchors: readonly Anchor[]
  /** True to give checkpoints also to anchors that have lost checkpoints. */
  readonly renewAnchors: boolean
}

/**
 * Fails if an anchor holds a checkpoint of another ledger with this origin, or of a later state of this ledger, or if it has lost
 * checkpoints.
 */
export async function* checkAnchors(
  context: AnchorContext,
  ledger: Ledger,
): Fallible<LedgerError | AnchorAhead | AnchorFailed, void> {
  for (const anchor of context.anchors) {
    const notes = yield* unwrap(anchor.held(ledger.origin))
    const note = largestOf(notes)
    if (note !== undefined)
      yield* checkHeld(
        context.nodes,
        ledger,
        anchor.name,
        yield* readHeldCheckpoint(ledger, anchor.name, note),
      )
    yield* checkKept(context, ledger, anchor, notes)
  }
}

/** Fails if the anchor has lost checkpoints, as an empty mount point has. */
async function* checkKept(
  { store, renewAnchors }: AnchorContext,
  ledger: Ledger,
  anchor: Anchor,
  notes: readonly string[] = [],
): Fallible<AnchorFailed, void> {
  if (renewAnchors || anchor.isPartial || anchor.verify) return
  const given = await run(lastGiven(store, ledger, anchor.name))
  if (E.isLeft(given))
    return yield anchorFailed(
      anchor.name,
      `may have lost checkpoints, because the record of what it was given cannot be read: ${given.left.message}`,
    )
  const recorded = given.right
  if (!recorded || lossOf(notes, recorded) === undefined) return
  // Another sealer may have given it a checkpoint after the notes were read.
  const problem = lossOf(yield* unwrap(anchor.held(ledger.origin)), recorded)
  if (problem !== undefined)
    return yield anchorFailed(
      anchor.name,
      `${problem}. Mount or restore it; if these checkpoints are permanently lost, seal once with --renew-anchor (in a program, renewAnchors)`,
    )
}

/** Returns the checkpoint that was last given to the anchor. Fails if the record of it cannot be read: it may tell of a loss. */
export const lastGiven = (
  store: EventStore,
  ledger: Pick<Ledger, 'number'>,
  anchor: string,
): Fallible<LedgerError, AnchoredCheckpoint | undefined> =>
  catchTyped<LedgerError, AnchoredCheckpoint | undefined>(async () => {
    for await (const given of anchorsOf(store, ledger)) if (given.anchor === anchor) return given
    return undefined
  })

/** Returns how the notes of an anchor fall short of the checkpoint that it was given; undefined if they do not. */
export const lossOf = (
  notes: readonly string[],
  { size, recorded }: AnchoredCheckpoint,
): string | undefined => {
  const read = readCheckpoint(largestOf(notes) ?? '')
  if (E.isRight(read) && read.right.checkpoint.size >= size) return undefined
  const kept = E.isRight(read)
    ? `only checkpoints up to ${read.right.checkpoint.size} entries`
    : 'no checkpoint'
  return `holds ${kept} of this ledger, although it was given one of ${size} entries at ${recorded}`
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
  sealing: AnchorContext,
  ledger: Ledger,
): Promise<readonly AnchorResult[]> => {
  const { anchors } = sealing
  const { origin, number, checkpoint, edge, sealed } = ledger
  const outcomes: AnchorResult[] = []
  const given = await givenLast(sealing.store, ledger)
  for (const anchor of checkpoint === undefined ? [] : anchors) {
    if (await hasIt(anchor, ledger, given.get(anchor.name))) {
      outcomes.push({ anchor: anchor.name })
      continue
    }
    // Sealing may take long, and a disk may be unmounted meanwhile.
    const isKept = await run(checkKept(sealing, ledger, anchor))
    if (E.isLeft(isKept)) {
      outcomes.push({ anchor: anchor.name, error: isKept.left })
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
