import * as E from 'fp-ts/lib/Either.js'
import { ok, run, type Steps } from '../result/steps.ts'
import { conversationNotFound } from '../commands/rejections.ts'
import { conversationOf, inboxStreamOf, notesStreamOf, streamOf } from '../events/ids.ts'
import { type CopyError, copyStream, type StreamCopy } from './copy-stream.ts'
import { originOf } from '../history/lineage.ts'
import { importUnfinished } from '../store/errors.ts'
import { namePages } from '../store/pages.ts'
import { type EventStore, maxPage } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'

/** What became of a conversation. */
export interface Copied {
  readonly id: string
  /** Events of its own stream that the target has of the source's; 0 after an error. */
  readonly events: number
  /** How many were written now, notes included. */
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

/** A conversation as it was when the copy began. */
interface Planned {
  /** The conversation that it was forked from. */
  readonly parent: string | undefined
  /** Last revision of its own stream. */
  readonly last: number
  /** What is beside it: its notes, and what waits to be moved into it. */
  readonly beside: readonly { readonly stream: string; readonly last: number }[]
}

type Plan = ReadonlyMap<string, E.Either<CopyError, Planned>>

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
): Steps<CopyError, readonly Copied[]> {
  const plan = yield* planOf(from, ids ?? (yield* idsOf(from)), ids !== undefined)
  const total = [...plan.values()].reduce((sum, planned) => sum + eventsOf(planned), 0)
  const outcomes = new Map<string, Copied>()
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

/** Copies the conversation, then what is beside it. Answers with how many events of the source the target has. */
async function* copyPlanned(
  from: EventStore,
  to: EventStore,
  { id, last, beside, wrote }: Planned & Pick<StreamCopy, 'id' | 'wrote'>,
): Steps<CopyError, number> {
  const events = yield* copyStream(from, to, { id, stream: streamOf(id), last, wrote })
  for (const other of beside) yield* copyStream(from, to, { id, ...other, wrote })
  return events
}

/** How many events are to be copied of a conversation, with what is beside it. */
const eventsOf = (planned: E.Either<CopyError, Planned>): number =>
  E.isRight(planned)
    ? planned.right.beside.reduce((sum, { last }) => sum + last + 1, planned.right.last + 1)
    : 0

/** Errors that every further conversation would meet too, maybe after a long wait. */
const isOfStore = ({ _tag }: CopyError): boolean =>
  _tag === 'OutcomeUnknown' ||
  _tag === 'StoreClosed' ||
  _tag === 'StoreDenied' ||
  _tag === 'StoreFaulty' ||
  _tag === 'StoreFull' ||
  _tag === 'StoreReadOnly' ||
  _tag === 'StoreUnavailable'

async function* idsOf(store: EventStore): Steps<CopyError, readonly string[]> {
  const ids: string[] = []
  for await (const names of namePages((after = '') => store.streams(streamOf(''), after, maxPage)))
    for (const name of yield* ok(names)) ids.push(conversationOf(name) ?? name)
  return ids
}

/** Every conversation to copy, once, parents before their forks; those that are being imported, only where they are named. */
async function* planOf(store: EventStore, ids: readonly string[], areNamed: boolean): Steps<CopyError, Plan> {
  const plan = new Map<string, E.Either<CopyError, Planned>>()
  for (const id of ids) {
    const lineage = new Map<string, E.Either<CopyError, Planned>>()
    let next: string | undefined = id
    while (next !== undefined && !plan.has(next) && !lineage.has(next)) {
      const planned: E.Either<CopyError, Planned> = await run(look(store, next))
      if (E.isLeft(planned) && isOfStore(planned.left)) return yield planned.left
      if (E.isLeft(planned) && !areNamed && isNotThere(planned.left, next)) break
      lineage.set(next, planned)
      next = E.isRight(planned) ? planned.right.parent : undefined
    }
    for (const [each, planned] of [...lineage].toReversed()) plan.set(each, planned)
  }
  return plan
}

/** Whether a name is of a conversation that was never written, or is still being imported. */
const isNotThere = (error: CopyError, id: string): boolean =>
  error._tag === 'ImportUnfinished' || (error._tag === 'ConversationNotFound' && error.conversation === id)

async function* look(store: EventStore, id: string): Steps<CopyError, Planned> {
  const stream = streamOf(id)
  const { last, unfinished } = yield* readStreamEnd(store, stream)
  if (unfinished && !last) return yield importUnfinished(id)
  const [first] = yield* ok(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
  if (!first) return yield conversationNotFound(id)
  const from = yield* ok(originOf(first))
  const beside: { readonly stream: string; readonly last: number }[] = []
  for (const other of [notesStreamOf(id), inboxStreamOf(id)]) {
    const end = yield* readStreamEnd(store, other)
    if (end.last) beside.push({ stream: other, last: end.last.revision })
  }
  return { parent: from?.conversation, last: last?.revision ?? -1, beside }
}
