import { unwrap, type Fallible } from '../result/fallible.ts'
import { hashOf } from '../events/codec.ts'
import type { EventTooLarge } from '../events/errors.ts'
import { archiveStreamOf, inboxStreamOf, streamOf, turnsStreamOf } from '../events/ids.ts'
import { batchesOf } from './batches.ts'
import { appendErasing, type ErasureCopy, replacingFor } from './copy-erasures.ts'
import { breath, pacer } from '../store/breath.ts'
import { despiteConflicts } from '../store/conflicts.ts'
import { historyLost, importUnfinished, type ReadError } from '../store/errors.ts'
import type { EventStore, RecordedEvent } from '../store/port.ts'
import type { LogDiscrepancy } from '../conversation/discrepancy.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'

/** Errors of a copy that failed or is incomplete. Events already copied stay in the target, and the next copy continues after them. */
export type CopyError = ReadError | EventTooLarge | CopyDiverged | CopyNotVerified

/** The target's event at this revision of the stream differs from the source's. Nothing was written after it. */
export interface CopyDiverged {
  readonly _tag: 'CopyDiverged'
  readonly message: string
  readonly conversation: string
  readonly revision: number
}
/** Everything was written, but the target's conversation fails verification. */
export interface CopyNotVerified {
  readonly _tag: 'CopyNotVerified'
  readonly message: string
  readonly conversation: string
  readonly discrepancy: LogDiscrepancy
}

export interface StreamCopy {
  /** Id of the conversation that the stream belongs to. */
  readonly id: string
  readonly stream: string
  /** Last revision to copy. */
  readonly last: number
  /** Called after each append with the number of events that it added. */
  readonly wrote: (events: number) => void
}

/** Maximum number of events per append and per read. */
const batchEvents = 100
/** Maximum size of an append in bytes, for a store without a limit. */
const batchBytes = 1024 * 1024
/** Maximum number of attempts to copy a stream while others, such as another copy, write to the same conversation. */
const maxTries = 20

/**
 * Copies the events of a stream that the target lacks. The parents of a fork must already be in the target.
 *
 * @returns the number of the source's events that the target has
 */
export const copyStream = (stores: ErasureCopy, copy: StreamCopy): Fallible<CopyError, number> =>
  despiteConflicts(() => copyOnce(stores, copy), maxTries)

async function* copyOnce(stores: ErasureCopy, copy: StreamCopy): Fallible<CopyError, number> {
  const { from, to } = stores
  const { id, stream, last } = copy
  const there = yield* readStreamEnd(to, stream)
  const { unfinished = there.last } = there
  // A longer target contains all events of the source, or has a different history.
  const begun = Math.min(unfinished?.revision ?? -1, last)
  if (begun >= 0) yield* checkSame(from, to, { id, stream, revision: begun })
  if (there.unfinished && begun === last) return yield importUnfinished(id)
  const first = there.unfinished?.part?.from ?? begun + 1
  const reached = yield* appendRest(begun, first, { stores, copy })
  yield* checkSame(from, to, { id, stream, revision: reached })
  return reached + 1
}

/**
 * Fails if the source has lost the end of a stream, or if the target differs from it in an event that both have. The last event alone proves nothing: in a store that was
 * changed, the chain may be broken before it.
 */
export async function* checkCommon(
  { from, to }: Pick<ErasureCopy, 'from' | 'to'>,
  { id, stream, last }: Omit<StreamCopy, 'wrote'>,
): Fallible<CopyError, void> {
  yield* checkEnd(from, stream)
  const there = yield* readStreamEnd(to, stream)
  const { unfinished = there.last } = there
  const end = Math.min(unfinished?.revision ?? -1, last)
  const pace = pacer()
  for (let next = 0; next <= end;) {
    const range = {
      stream,
      from: next,
      direction: 'forwards',
      limit: Math.min(batchEvents, end + 1 - next),
    } as const
    const [source, target] = await Promise.all([from.read(range)(), to.read(range)()])
    const theirs = yield* unwrap(target)
    // Pages of large events are cut short, not always at the same one.
    const ours = (yield* unwrap(source)).slice(0, Math.max(1, theirs.length))
    if (ours.length === 0) return yield copyDiverged(id, next, stream)
    for (const [index, event] of ours.entries()) {
      const pause = pace(event.data.length)
      if (pause) await pause
      if (!isSame(event, theirs[index])) return yield copyDiverged(id, next + index, stream)
    }
    next += ours.length
  }
}

/** Compares two events by what is hashed, and hashes them only if that differs: content may have been erased in one of the stores. */
const isSame = (ours: RecordedEvent | undefined, theirs: RecordedEvent | undefined): boolean =>
  ours !== undefined &&
  theirs !== undefined &&
  ours.revision === theirs.revision &&
  ((ours.id === theirs.id &&
    ours.type === theirs.type &&
    ours.metadata === theirs.metadata &&
    ours.data === theirs.data) ||
    hashOf(ours) === hashOf(theirs))

/** Fails if the source has lost the end of a stream, or has another event there: a copy would look as if that were all. */
async function* checkEnd(from: EventStore, stream: string): Fallible<CopyError, void> {
  const kept = yield* unwrap(from.keptEnd(stream))
  if (!kept) return
  const { last, unfinished = last } = yield* readStreamEnd(from, stream)
  const end = unfinished?.revision ?? -1
  if (end < kept.last)
    return yield historyLost(stream, `it ends at revision ${end}, but once had revision ${kept.last}`)
  if (unfinished && end === kept.last && hashOf(unfinished) !== kept.hash)
    return yield {
      ...historyLost(stream, ''),
      message: `the last event of stream ${stream}, at revision ${end}, was changed: verify the source, and restore a backup`,
    }
}

async function* checkSame(
  from: EventStore,
  to: EventStore,
  { id, stream, revision }: { readonly id: string; readonly stream: string; readonly revision: number },
): Fallible<CopyError, void> {
  const range = { stream, from: revision, direction: 'forwards', limit: 1 } as const
  const [source, target] = await Promise.all([from.read(range)(), to.read(range)()])
  const [ours] = yield* unwrap(source)
  const [theirs] = yield* unwrap(target)
  if (!isSame(ours, theirs)) yield copyDiverged(id, revision, stream)
}

/**
 * Appends the events after revision `begun`, up to and including the last one to copy, and returns the last revision. If this takes
 * several appends, readers ignore the events from revision `first` on until the last append.
 */
async function* appendRest(
  begun: number,
  first: number,
  { stores, copy }: { readonly stores: ErasureCopy; readonly copy: StreamCopy },
): Fallible<CopyError, number> {
  const { from, to } = stores
  const { id, stream } = copy
  const erasures: RecordedEvent[] = []
  const pageAt = (revision: number) => {
    const limit = Math.min(batchEvents, copy.last + 1 - revision)
    return from.read({ stream, from: revision, direction: 'forwards', limit })()
  }
  const most = Number.isFinite(to.maxAppendBytes) ? to.maxAppendBytes / 2 : batchBytes
  let reached = begun
  let ahead: ReturnType<typeof pageAt> | undefined
  while (reached < copy.last) {
    const page = yield* unwrap(ahead ?? pageAt(reached + 1))
    const gap = page.find(({ revision }, index) => revision !== reached + 1 + index)
    if (gap)
      return yield historyLost(
        stream,
        `revision ${gap.revision} was found where revision ${reached + 1} was expected`,
      )
    if (page.length === 0) return yield historyLost(stream, `it ends at revision ${reached}`)
    // A target that had nothing of the stream has nothing whole.
    if (begun >= 0 && stream === streamOf(id)) erasures.push(...page.filter(({ type }) => type === 'Erased'))
    // The next page is read while this one is written.
    const next = reached + 1 + page.length
    ahead = next <= copy.last ? pageAt(next) : undefined
    for (const events of batchesOf(page, batchEvents, most)) {
      // Commands that are repeated after the move must be found in the target as in the source.
      const isLast = reached + events.length >= copy.last
      const isAlone = isLast && reached + 1 === first
      const part = { from: first, ...(isLast && { last: true as const }) }
      const append = { stream, events, expected: reached, repeat: 'each' as const }
      // The erasures count from the last append on.
      const replacing = isLast ? yield* replacingFor(stores, id, erasures) : undefined
      const appended = yield* appendErasing(stores, { ...append, ...(!isAlone && { part }) }, replacing)
      if (appended === 'written') copy.wrote(events.length)
      reached += events.length
      await breath()
    }
  }
  return reached
}

const nameIn = (conversation: string, stream: string): string => {
  if (stream === streamOf(conversation)) return 'event'
  if (stream === inboxStreamOf(conversation)) return 'queued message'
  if (stream === archiveStreamOf(conversation)) return 'part of the original file'
  return stream === turnsStreamOf(conversation) ? 'event of the turns' : 'note'
}

const copyDiverged = (conversation: string, revision: number, stream: string): CopyDiverged => ({
  _tag: 'CopyDiverged',
  message: `the ${nameIn(conversation, stream)} at revision ${revision} of conversation ${conversation} differs in the target: palimpsest verify says whether the source or the target was changed. If neither was, copy into another store`,
  conversation,
  revision,
})

/**
 * Returns the error for a copy that fails verification.
 *
 * @param remains reason why content that was erased in the source remains in the target, and what to do
 */
export const copyNotVerified = (
  conversation: string,
  discrepancy: LogDiscrepancy,
  remains: string,
): CopyNotVerified => ({
  _tag: 'CopyNotVerified',
  message:
    discrepancy.kind === 'erased'
      ? `content of ${conversation} was erased in the source, and ${remains}`
      : `the copy of ${conversation} has a problem at ${discrepancy.position}, ${discrepancy.kind}: ${discrepancy.message}. Verify the source: if it has the same problem, the copy is as good as the original`,
  conversation,
  discrepancy,
})
