import * as E from 'fp-ts/lib/Either.js'
import { streamOf } from '../events/ids.ts'
import { tell } from '../conversation/beside/worker-log.ts'
import { run, type Steps } from '../result/steps.ts'
import type { EventStore } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { idsOf, isOfStore, type PlannedCopy, planOf } from './copy-plan.ts'
import { type CopyError, copyNotVerified, copyStream, type StreamCopy } from './copy-stream.ts'
import { verify } from '../conversation/verify.ts'

/** What became of a conversation. */
export interface CopyResult {
  readonly id: string
  /** Events of its own stream that the target has of the source's; 0 after an error. */
  readonly events: number
  /** How many were written now, notes, queued messages and events of turns included. */
  readonly added: number
  /** Why it was not copied, or not completely. The next copy continues where this one ended. */
  readonly error?: CopyError
}

export interface CopyOptions {
  /** The conversations to copy, along with those that they were forked from. Default: all of the source. */
  readonly ids?: readonly string[] | undefined
  /** Called after each append with how many of how many events the target has. */
  readonly progress?: ((done: number, total: number) => void) | undefined
}

/**
 * Copies conversations from one store to another: the events byte for byte, at the same revisions, those of a fork's parents first.
 * Nothing is written twice: what the target has already is only compared, at its end. Then every copy is verified. What is appended
 * to the source meanwhile comes along or waits for the next copy.
 *
 * A conversation's failure is told in its `error`, and keeps back none but its forks; where a store itself fails, all that remain
 * have that error.
 *
 * @returns the conversations in the order in which they were copied, parents before their forks
 */
export async function* copyBetween(
  from: EventStore,
  to: EventStore,
  { ids, progress }: CopyOptions = {},
): Steps<CopyError, readonly CopyResult[]> {
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
    const copied = E.isLeft(ready) ? ready : await run(copyPlanned(from, to, { ...ready.right, id, wrote }))
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

/** Copies the conversation and what is beside it. Answers with how many events of the source the target has. */
async function* copyPlanned(
  from: EventStore,
  to: EventStore,
  { id, stretches, holder, wrote }: PlannedCopy & Pick<StreamCopy, 'id' | 'wrote'>,
): Steps<CopyError, number> {
  let events = 0
  let added = 0
  for (const [index, { stream, last }] of stretches.entries()) {
    const isLast = !stretches.some((later, at) => at > index && later.stream === stream)
    // An earlier copy has come further.
    if (!isLast && (yield* reached(to, stream)) >= last) continue
    const count = (written: number): void => {
      added += written
      wrote(written)
    }
    const copied = yield* copyStream(from, to, { id, stream, last, wrote: count })
    if (stream === streamOf(id)) events = copied
  }
  // It works on the source: nobody waits for it here.
  if (holder !== undefined && added > 0) {
    const reason = `${id} was copied from another store`
    yield* tell(to, actor, holder, { type: 'WorkerStopped', data: { reason } })
  }
  const { discrepancy } = yield* verify(to, id)
  return discrepancy ? yield copyNotVerified(id, discrepancy) : events
}

/** The last revision of a stream, whether it counts yet or not. */
async function* reached(store: EventStore, stream: string): Steps<CopyError, number> {
  const { last, unfinished = last } = yield* readStreamEnd(store, stream)
  return unfinished?.revision ?? -1
}

/** How many events are to be copied of a conversation, with what is beside it. */
const eventsOf = (planned: E.Either<CopyError, PlannedCopy>): number => {
  const ends = new Map(
    E.isRight(planned) ? planned.right.stretches.map(({ stream, last }) => [stream, last]) : [],
  )
  return [...ends.values()].reduce((sum, last) => sum + last + 1, 0)
}
