import * as E from 'fp-ts/lib/Either.js'
import { contentKinds, contentStreams, streamOf } from '../events/ids.ts'
import { tell } from '../conversation/beside/worker-log.ts'
import { run, unwrap, type Fallible } from '../result/fallible.ts'
import type { EventStore } from '../store/port.ts'
import { checkHasKeys } from '../store/seal/store-secret.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { withNearest } from '../conversation/reading/nearest-conversation.ts'
import { idsOf, isOfStore, type PlannedCopy, planOf } from './copy-plan.ts'
import { type ErasureCopy, repeatErasures } from './copy-erasures.ts'
import { checkCommon, type CopyError, copyNotVerified, copyStream, type StreamCopy } from './copy-stream.ts'
import { createHoldFinder } from '../conversation/beside/hold-finder.ts'
import { removeContents } from '../store/whole/erased-contents.ts'
import { once } from '../result/once.ts'
import type { LogDiscrepancy } from '../conversation/discrepancy.ts'
import { type ErasedBeside, notAsErased } from '../conversation/verify-beside.ts'
import { verify } from '../conversation/verify.ts'

/** The result of copying one conversation. */
export interface CopyResult {
  readonly id: string
  /** Number of events of the conversation's own stream that the target shares with the source; 0 after an error. */
  readonly events: number
  /** Number of events that this copy wrote, including notes, queued messages and events of turns. */
  readonly added: number
  /**
   * Number of events whose content this copy erased in the target, because it was erased in the source, including notes, queued messages
   * and events of turns; absent if there are none.
   */
  readonly erased?: number
  /** Numbers of those beside the conversation; absent if there are none. */
  readonly erasedBeside?: ErasedBeside
  /**
   * Number of large contents in the target to which no event refers any more, but which stay for now, because they were stored only
   * recently: `gc` removes them. Absent if there are none.
   */
  readonly recent?: number
  /** Error if the conversation was not copied, or not completely. The next copy continues where this one ended. */
  readonly error?: CopyError
}

/** Options of a copy between two open stores. */
interface StoreCopyOptions extends CopyOptions {
  /** The target beneath its layers. Default: the target, which has none. */
  readonly adapter?: EventStore
  /** Builds the index of the target again, because it has words of conversations. */
  readonly renewIndex?: (() => Promise<void>) | undefined
}

export interface CopyOptions {
  /**
   * Ids of the conversations to copy. The conversations that they were forked from are copied too. Default: all conversations of the
   * source.
   */
  readonly ids?: readonly string[] | undefined
  /** Called after each append with the number of events that are in the target so far and the total number of events to copy. */
  readonly progress?: ((done: number, total: number) => void) | undefined
}

/**
 * Copies conversations from one store to another: the events byte for byte, at the same revisions, and the parents of a fork before the
 * fork. Nothing is written twice: the events already in the target are compared with the source. Content that was erased in the source
 * is erased in the target, too. Then every copy is verified. Events appended to the source in the meantime are copied now or by the next
 * copy. If one conversation fails, the error is returned in its `error` and affects only its forks; if a store itself fails, all
 * remaining conversations have that error.
 *
 * @returns the conversations in copying order, parents before their forks
 */
export async function* copyBetween(
  from: EventStore,
  to: EventStore,
  { ids, progress, adapter = to, renewIndex = async () => {} }: StoreCopyOptions = {},
): Fallible<CopyError, readonly CopyResult[]> {
  for (const store of [from, to]) yield* checkHasKeys(store)
  const plan = yield* planOf(from, ids ?? (yield* idsOf(from)), ids !== undefined)
  const total = [...plan.values()].reduce((sum, planned) => sum + eventsOf(planned), 0)
  const outcomes = new Map<string, CopyResult>()
  const errorOf = (id: string | undefined): CopyError | undefined =>
    id === undefined ? undefined : outcomes.get(id)?.error
  let broken: CopyError | undefined
  let before = 0
  const contents = new Set<string>()
  const holds = createHoldFinder(to)
  /** Ids of the conversations of which content was erased, by this copy or before. */
  const withErased = new Set<string>()
  // Renewed before, because a copy that is killed after it has erased content cannot, and the next one does not know.
  const erasing = once(renewIndex)
  for (const [id, planned] of plan) {
    let added = 0
    let gone = 0
    const beside: { -readonly [K in keyof ErasedBeside]: ErasedBeside[K] } = {}
    const wrote = (events: number): void => {
      added += events
      progress?.(before + added, total)
    }
    const erased: ErasureCopy['erased'] = (events, own) => {
      gone += events.length
      for (const { stream } of events) {
        const kind = contentKinds.find((each) => contentStreams[each](id) === stream)
        if (kind && kind !== 'events') beside[kind] = (beside[kind] ?? 0) + 1
      }
      withErased.add(id)
      for (const sha256 of own) contents.add(sha256)
    }
    const parentError = E.isRight(planned) ? errorOf(planned.right.parent) : planned.left
    const error = broken ?? parentError
    const ready = error ? E.left(error) : planned
    const copied = E.isLeft(ready)
      ? E.left(await withNearest(from, ready.left))
      : await run(copyPlanned({ from, to, adapter, holds, erasing, erased }, { ...ready.right, id, wrote }))
    if (E.isRight(copied) && copied.right.hasErased) withErased.add(id)
    outcomes.set(id, {
      id,
      events: E.isRight(copied) ? copied.right.events : 0,
      added,
      ...(gone > 0 && { erased: gone }),
      ...(Object.keys(beside).length > 0 && { erasedBeside: beside }),
      ...(E.isLeft(copied) && { error: copied.left }),
    })
    if (E.isLeft(copied) && isOfStore(copied.left)) broken = copied.left
    before += eventsOf(planned)
    progress?.(before, total)
  }
  // Also after an erasure by an earlier copy, which may have been interrupted before it came to this.
  if (withErased.size > 0 && to.scrub && !broken) {
    const removed = await run(removeErased(adapter, contents))
    // The index may have been read from the target in the meantime.
    if ([...outcomes.values()].some(({ erased }) => erased !== undefined)) await renewIndex()
    const more = E.isLeft(removed) ? { error: removed.left } : removed.right
    for (const id of withErased) {
      const outcome = outcomes.get(id)
      if (outcome) outcomes.set(id, { ...more, ...outcome })
    }
  }
  return [...outcomes.values()]
}

/** Removes what was erased from everywhere in the target. */
async function* removeErased(
  adapter: EventStore,
  contents: ReadonlySet<string>,
): Fallible<CopyError, Pick<CopyResult, 'recent'>> {
  const { recent } = yield* removeContents(adapter, contents)
  if (adapter.scrub) yield* unwrap(adapter.scrub())
  return recent > 0 ? { recent } : {}
}

const actor = { kind: 'copy' }

/** The result of copying one conversation, if it succeeds. */
interface Copied {
  /** Number of events of the conversation's own stream that the target has. */
  readonly events: number
  readonly hasErased: boolean
}

/** Copies a conversation and its side streams, and verifies the copy. */
async function* copyPlanned(
  stores: ErasureCopy,
  { id, stretches, holder, wrote }: PlannedCopy & Pick<StreamCopy, 'id' | 'wrote'>,
): Fallible<CopyError, Copied> {
  const { to } = stores
  // First, so that a conversation that differs anywhere gets nothing.
  for (const [stream, last] of endsOf(stretches)) yield* checkCommon(stores, { id, stream, last })
  let events = 0
  let added = 0
  for (const [index, { stream, last }] of stretches.entries()) {
    const isLast = !stretches.some((later, at) => at > index && later.stream === stream)
    // An earlier copy has already gone further.
    if (!isLast && (yield* reached(to, stream)) >= last) continue
    const count = (written: number): void => {
      added += written
      wrote(written)
    }
    const copied = yield* copyStream(stores, { id, stream, last, wrote: count })
    if (stream === streamOf(id)) events = copied
  }
  // The holder works on the source, so nothing in the target should wait for it.
  if (holder !== undefined && added > 0) {
    const reason = `${id} was copied from another store`
    yield* tell(to, actor, holder, { type: 'WorkerStopped', data: { reason } })
  }
  let report = yield* verify(to, id, false)
  if (report.discrepancy?.kind === 'erased' && to.scrub) {
    yield* repeatErasures(stores, id, events - 1)
    report = yield* verify(to, id, false)
  }
  const { discrepancy, erased = 0 } = report
  if (discrepancy) return yield copyNotVerified(id, discrepancy, yield* whyItRemains(stores, id, discrepancy))
  return { events, hasErased: erased > 0 }
}

/** Returns the reason why content that was erased in the source is still in the target, and what to do. */
async function* whyItRemains(
  { to, holds }: ErasureCopy,
  id: string,
  { message, position }: LogDiscrepancy,
): Fallible<CopyError, string> {
  if (!to.scrub)
    return 'the target still has it and cannot overwrite events: copy into another store, and delete this one'
  // Only events have positions that forks show.
  const cover = yield* holds.holding(id, message === notAsErased ? position : undefined)
  const of = cover?.conversation === id ? 'it' : cover?.conversation
  return cover
    ? `the target still has it, because ${of} is under the legal hold of ${cover.hold.by} there: release ${of}, in the source if it is held there, too, and copy again`
    : 'the copy does not match that: copy again. If the error stays, verify the source'
}

/** Returns the last revision of a stream, including events of an unfinished import. */
async function* reached(store: EventStore, stream: string): Fallible<CopyError, number> {
  const { last, unfinished = last } = yield* readStreamEnd(store, stream)
  return unfinished?.revision ?? -1
}

/** Returns the last revision to copy of each stream. */
const endsOf = (stretches: PlannedCopy['stretches']): ReadonlyMap<string, number> =>
  new Map(stretches.map(({ stream, last }) => [stream, last]))

/** Returns the number of events to copy for a conversation, including its side streams. */
const eventsOf = (planned: E.Either<CopyError, PlannedCopy>): number => {
  const ends = endsOf(E.isRight(planned) ? planned.right.stretches : [])
  return [...ends.values()].reduce((sum, last) => sum + last + 1, 0)
}
