import * as E from 'fp-ts/lib/Either.js'
import { several } from '../../result/several.ts'
import { orThrow, run } from '../../result/fallible.ts'
import { backwards, pagesOf } from '../../store/pages.ts'
import type { StoreError } from '../../store/errors.ts'
import type { Checkpoint as StorePlace, EventStore } from '../../store/port.ts'
import { anchorsOf, lastGiven, lossOf } from './check-anchors.ts'
import type { Anchor } from './anchors.ts'
import { readCheckpoint } from './checkpoints.ts'
import { ownerOf, parseEntry } from './entries.ts'
import type { AnchorFailed } from './errors.ts'
import { ledgerStream, logStream, tilesStream } from './facts.ts'
import { differenceFrom } from './heads.ts'
import { parseKey } from './keys.ts'
import { batchIn, completedTileOf } from './log.ts'
import { type HeldCheckpoint, isAmong, createLedgerVerifier } from './ledger-verifier.ts'
import { dataOf } from './stored-facts.ts'
import type { CompletedTile } from './tiles.ts'

/** A difference between the store and its signed ledger, its anchors or its receipts. */
export interface AuditProblem {
  readonly type: 'problem'
  /**
   * Kind of problem. `ledger`: the ledger differs from its signed checkpoints; `entry`: an event differs from its ledger entry;
   * `anchor`: the ledger differs from an anchor's checkpoints; `conversation`, `receipt`: a finding of `verify` or `verifyReceipts`;
   * `newer`: a newer version of palimpsest wrote events of the conversation, which this version cannot check: upgrade; `store`: the file
   * is damaged.
   */
  readonly kind: 'ledger' | 'entry' | 'anchor' | 'conversation' | 'newer' | 'receipt' | 'store'
  readonly message: string
  readonly conversation?: string
  /** Revision of the event in the conversation's stream or in the stream of its turns, as stated in the message. */
  readonly revision?: number
}

/** Notice that some ledger entries were checked and the audit may pause. */
interface Passed {
  readonly type: 'passed'
  /** Number of entries compared with their events so far. */
  readonly entries: number
}

export interface ReadLedger {
  readonly size: number
  /** Last sealed revision of each stream, keyed by `nameOf` of the stream. */
  readonly sealed: ReadonlyMap<string, number>
  /** Place in the store up to which the ledger claims that everything is sealed; undefined if the ledger records no place. */
  readonly after: StorePlace | undefined
  /** True if `after` also applies to the events recorded by turns. */
  readonly turns: boolean
}

export interface LedgerCheck {
  readonly store: EventStore
  readonly anchors: readonly Anchor[]
  /** Verifier key from a source outside the store. */
  readonly key: string | undefined
  /** Number of entries that were already compared with their events. */
  readonly known: number
  /** Number of entries that are compared concurrently. */
  readonly atOnce: number
  /** True if an anchor may lack a checkpoint that it was never given. */
  readonly mayBeNew: boolean
}

/** First event of a ledger; its revision is the ledger's number. */
interface Begun {
  readonly data: { readonly origin: string; readonly key: string; readonly reason?: string | undefined }
  readonly revision: number
  readonly time: string
}

const problem = (kind: AuditProblem['kind'], message: string): AuditProblem => ({
  type: 'problem',
  kind,
  message,
})

/**
 * Reads a whole ledger once, and the events named by all entries except the first `known`. Checks the ledger whose origin `key` names,
 * or the newest ledger of the store.
 *
 * Throws a `LedgerError` during iteration.
 */
export async function* verifyLedger({
  store,
  anchors,
  key,
  known,
  atOnce,
  mayBeNew,
}: LedgerCheck): AsyncGenerator<AuditProblem | Passed, ReadLedger> {
  const begun: Begun[] = []
  for await (const event of backwards(store, ledgerStream)) {
    const read = await readable(run(dataOf(await orThrow(event), 'LedgerBegun')))
    if (E.isLeft(read)) yield problem('ledger', read.left.message)
    else begun.push(read.right)
  }
  const [newest] = begun
  if (!newest) {
    yield problem(
      'ledger',
      `${store.url} has no ledger, so its content cannot be proven or compared with the anchors' checkpoints: begin a ledger with palimpsest audit init; if the store had a ledger, it was removed, or this is another store`,
    )
    return { size: 0, sealed: new Map(), after: undefined, turns: false }
  }
  const meant = begun.find(({ data }) => key?.startsWith(`${data.origin}+`)) ?? newest
  const { data, revision: number } = meant
  if (meant !== newest)
    yield problem(
      'ledger',
      `ledger ${data.origin} is not continued: ${newest.data.origin} was begun at ${newest.time} (${newest.data.reason ?? 'no reason given'}), and only that ledger covers later events`,
    )
  const held = yield* heldBy(anchors, { store, number, origin: data.origin }, mayBeNew)
  const verifier = createLedgerVerifier(data.origin, await orThrow(parseKey(data.key)), held)
  const sealed = new Map<string, number>()
  let after: StorePlace | undefined
  let turns = false
  for await (const page of pagesOf(store, logStream(number)))
    for (const event of await orThrow(page)) {
      const read = await readable(run(batchIn(event)))
      if (E.isLeft(read)) {
        yield problem('ledger', read.left.message)
        return { size: verifier.edge().size, sealed, after: undefined, turns: false }
      }
      const batch = read.right
      const { wrong, completed, isBroken } = verifier.take(batch)
      for (const { kind, message } of wrong) yield problem(kind, message)
      if (isBroken) return { size: verifier.edge().size, sealed, after: undefined, turns: false }
      for (const tile of completed) yield* tileProblems(store, number, tile)
      after = batch.after
      turns = batch.turns === true
      const unknown: (readonly [nth: number, entry: ReturnType<typeof parseEntry>])[] = []
      for (const [index, text] of batch.entries.entries()) {
        const nth = batch.from + index
        const entry = parseEntry(text)
        if (E.isRight(entry) && entry.right.type === 'head')
          sealed.set(entry.right.name, entry.right.revision)
        if (nth >= known) unknown.push([nth, entry])
      }
      const checking = several(unknown, atOnce, async ([nth, entry]) => {
        const problems: AuditProblem[] = []
        for await (const one of entryProblems(store, entry)) problems.push(one)
        return { nth, problems }
      })
      for await (const { nth, problems } of checking) {
        yield* problems
        yield { type: 'passed', entries: nth + 1 }
      }
      yield { type: 'passed', entries: Math.max(known, batch.from + batch.entries.length) }
    }
  for (const { kind, message } of verifier.end()) yield problem(kind, message)
  if (known > verifier.edge().size)
    yield problem(
      'ledger',
      `an earlier audit has seen ${known} entries, but the ledger has ${verifier.edge().size}: the store is an older copy, or entries were removed`,
    )
  if (key !== undefined && !isAmong(verifier.signers(), key))
    yield problem(
      'ledger',
      `${key} has signed nothing in this ledger: it belongs to another ledger or is too new`,
    )
  return { size: verifier.edge().size, sealed, after: meant === newest ? after : undefined, turns }
}

/**
 * Returns a decoded ledger event. Returns the error if the event cannot be decoded, because this is a finding and does not stop the
 * check. Throws other errors.
 */
const readable = async <A>(
  reading: Promise<E.Either<StoreError, A>>,
): Promise<E.Either<Extract<StoreError, { readonly _tag: 'DecodeFailed' }>, A>> => {
  const read = await reading
  if (E.isRight(read)) return read
  return read.left._tag === 'DecodeFailed' ? E.left(read.left) : orThrow(read)
}

interface Anchored {
  readonly store: EventStore
  readonly number: number
  readonly origin: string
}

async function* heldBy(
  anchors: readonly Anchor[],
  of: Anchored,
  mayBeNew: boolean,
): AsyncGenerator<AuditProblem, readonly HeldCheckpoint[]> {
  const all: HeldCheckpoint[] = []
  const log = { stream: logStream(of.number), from: 0, direction: 'forwards', limit: 1 } as const
  const isEmpty = anchors.length > 0 && (await orThrow(of.store.read(log))).length === 0
  for (const anchor of anchors) {
    const notes = await notesOf(anchor, of)
    if (E.isLeft(notes)) yield problem('anchor', notes.left.message)
    else {
      const before = all.length
      let other: string | undefined
      for (const text of notes.right) {
        const read = readCheckpoint(text)
        if (E.isLeft(read)) other ??= text
        else all.push({ ...read.right.checkpoint, anchor: anchor.name, note: read.right.note })
      }
      // Only one problem per anchor: people who can write to the anchor could otherwise flood the audits.
      if (other !== undefined)
        yield problem(
          'anchor',
          `${anchor.name} holds something that is not a checkpoint: it was truncated or changed there (${excerpt(other)})`,
        )
      const isKept = !anchor.isPartial && !anchor.verify
      const given = isKept ? await run(lastGiven(of.store, of, anchor.name)) : E.right(undefined)
      const loss = E.isRight(given) && given.right && lossOf(notes.right, given.right)
      if (E.isLeft(given))
        yield problem('anchor', `it is unknown what ${anchor.name} was given: ${given.left.message}`)
      else if (loss) yield problem('anchor', `${anchor.name} ${loss}`)
      else if (all.length === before && !(mayBeNew && E.isRight(given) && !given.right) && !isEmpty)
        yield problem('anchor', `${anchor.name} holds no checkpoint of ledger ${of.origin}`)
    }
  }
  // Without anchors, use the last checkpoint that the store recorded: someone who truncates the ledger may forget to remove it.
  if (anchors.length === 0)
    for await (const { anchor, checkpoint: text } of anchorsOf(of.store, of)) {
      const { note, checkpoint } = await orThrow(readCheckpoint(text))
      all.push({ ...checkpoint, anchor, note })
      break
    }
  return all.toSorted((a, b) => a.size - b.size)
}

/** Returns the beginning of a text, long enough to find the text. */
const excerpt = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/**
 * Returns the checkpoints that an anchor holds. For an anchor that only signs, returns the checkpoints recorded by the store after
 * verifying each signature.
 */
const notesOf = async (
  { name, held, verify }: Anchor,
  { store, number, origin }: Anchored,
): Promise<E.Either<AnchorFailed, readonly string[]>> => {
  if (!verify) return held(origin)()
  const notes: string[] = []
  for await (const { anchor, checkpoint, recorded } of anchorsOf(store, { number })) {
    const verified = anchor === name ? await verify(checkpoint, recorded)() : undefined
    if (verified && E.isLeft(verified)) return verified
    if (verified) notes.push(verified.right)
  }
  return E.right(notes)
}

/** Compares a stored tile with the tile computed from the entries. A missing tile is not a problem: it is rebuilt when needed. */
async function* tileProblems(
  store: EventStore,
  number: number,
  { index, rows }: CompletedTile,
): AsyncGenerator<AuditProblem, void> {
  const [event] = await orThrow(
    store.read({ stream: tilesStream(number), from: index, direction: 'forwards', limit: 1 }),
  )
  const read = event && (await readable(run(completedTileOf(event))))
  if (read && E.isLeft(read)) return yield problem('ledger', read.left.message)
  const stored = read?.right
  const isSame = (row: readonly Buffer[], level: number): boolean =>
    stored !== undefined && Buffer.concat(row).equals(Buffer.concat(stored.rows[level] ?? []))
  if (stored && !rows.every(isSame)) yield problem('ledger', `tile ${index} does not match its entries`)
}

/** Marks a problem's message as concerning the stream of a conversation's turns. The problem's revision then refers to that stream. */
export const ofTurns = (message: string): string => `what its turns recorded: ${message}`

/** Checks that the event named by an entry still has the hash in the entry. */
async function* entryProblems(
  store: EventStore,
  entry: ReturnType<typeof parseEntry>,
): AsyncGenerator<AuditProblem, void> {
  if (E.isLeft(entry)) return yield problem('ledger', 'an entry cannot be read')
  if (entry.right.type === 'key') return
  const { name, revision } = entry.right
  const difference = await differenceFrom(store, name, entry.right)
  if (!difference) return
  const conversation = ownerOf(name)
  const message = conversation === name ? difference.message : ofTurns(difference.message)
  yield { ...problem(difference.isKeyMissing ? 'newer' : 'entry', message), conversation, revision }
}
