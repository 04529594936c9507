import * as E from 'fp-ts/lib/Either.js'
import { streamOf } from '../events/ids.ts'
import { tell } from '../conversation/beside/worker-log.ts'
import { run, type Fallible } from '../result/fallible.ts'
import type { EventStore } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { withNearest } from '../conversation/reading/nearest-conversation.ts'
import { idsOf, isOfStore, type PlannedCopy, planOf } from './copy-plan.ts'
import { type CopyError, copyNotVerified, copyStream, type StreamCopy } from './copy-stream.ts'
import { verify } from '../conversation/verify.ts'

/** The result of copying one conversation. */
export interface CopyResult {
  readonly id: string
  /** Number of events of the conversation's own stream that the target shares with the source; 0 after an error. */
  readonly events: number
  /** Number of events that this copy wrote, including notes, queued messages and events of turns. */
  readonly added: number
  /** Error if the conversation was not copied, or not completely. The next copy continues where this one ended. */
  readonly error?: CopyError
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
 * fork. Nothing is written twice: of the events already in the target, only the last one is compared with the source. Then every copy
 * is verified. Events appended to the source in the meantime are copied now or by the next copy. If one conversation fails, the error
 * is returned in its `error` and affects only its forks; if a store itself fails, all remaining conversations have that error.
 *
 * @returns the conversations in copying order, parents before their forks
 */
export async function* copyBetween(
  from: EventStore,
  to: EventStore,
  { ids, progress }: CopyOptions = {},
): Fallible<CopyError, readonly CopyResult[]> {
  const plan = yield* planOf(from, ids ?? (yield* idsOf(from)), ids !== undefined)
  const total = [...plan.values()].reduce((sum, planned) => sum + eventsOf(planned), 0)
  const outcomes = new Map<string, CopyResult>()
  const errorOf = (id: string | undefined): CopyError | undefined =>
    id === undefined ? undefined : outcomes.get(id)?.error
  let broken: CopyError | undefined
  let before = 0
  for (const [id, planned] of plan) {
    let added = 0
    const wrote = (events: number): void => {
      added += events
      progress?.(before + added, total)
    }
    const parentError = E.isRight(planned) ? errorOf(planned.right.parent) : planned.left
    const error = broken ?? parentError
    const ready = error ? E.left(error) : planned
    const copied = E.isLeft(ready)
      ? E.left(await withNearest(from, ready.left))
      : await run(copyPlanned(from, to, { ...ready.right, id, wrote }))
    outcomes.set(
      id,
      E.isRight(copied) ? { id, events: copied.right, added } : { id, events: 0, added, error: copied.left },
    )
    if (E.isLeft(copied) && isOfStore(copied.left)) broken = copied.left
    before += eventsOf(planned)
    progress?.(before, total)
  }
  return [...outcomes.values()]
}

const actor = { kind: 'copy' }

/**
 * Copies a conversation and its side streams, and verifies the copy. Returns the number of events of the conversation's own stream that
 * the target has.
 */
async function* copyPlanned(
  from: EventStore,
  to: EventStore,
  { id, stretches, holder, wrote }: PlannedCopy & Pick<StreamCopy, 'id' | 'wrote'>,
): Fallible<CopyError, number> {
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
    const copied = yield* copyStream(from, to, { id, stream, last, wrote: count })
    if (stream === streamOf(id)) events = copied
  }
  // The holder works on the source, so nothing in the target should wait for it.
  if (holder !== undefined && added > 0) {
    const reason = `${id} was copied from another store`
    yield* tell(to, actor, holder, { type: 'WorkerStopped', data: { reason } })
  }
  const { discrepancy } = yield* verify(to, id, false)
  return discrepancy ? yield copyNotVerified(id, discrepancy) : events
}

/** Returns the last revision of a stream, including events of an unfinished import. */
async function* reached(store: EventStore, stream: string): Fallible<CopyError, number> {
  const { last, unfinished = last } = yield* readStreamEnd(store, stream)
  return unfinished?.revision ?? -1
}

/** Returns the number of events to copy for a conversation, including its side streams. */
const eventsOf = (planned: E.Either<CopyError, PlannedCopy>): number => {
  const ends = new Map(
    E.isRight(planned) ? planned.right.stretches.map(({ stream, last }) => [stream, last]) : [],
  )
  return [...ends.values()].reduce((sum, last) => sum + last + 1, 0)
}
