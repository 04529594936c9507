import * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound } from '../commands/rejections.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import { originOf } from '../conversation/reading/lineage.ts'
import { unwrap, run, type Fallible } from '../result/fallible.ts'
import { importUnfinished } from '../store/errors.ts'
import { namePages } from '../store/pages.ts'
import { type EventStore, maxPage } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { orderOf, type CopySegment } from './copy-order.ts'
import type { CopyError } from './copy-stream.ts'

/** The plan for copying one conversation, as it was when the copy began. */
export interface PlannedCopy {
  /** Id of the conversation that this one was forked from; undefined if it is not a fork. */
  readonly parent: string | undefined
  /** Segments of the conversation's own stream, its notes, its queued messages and its turns, in the order in which to copy them. */
  readonly stretches: readonly CopySegment[]
  /** The program or worker that is running a turn of the conversation, according to the log. */
  readonly holder?: string | undefined
}

export type CopyPlan = ReadonlyMap<string, E.Either<CopyError, PlannedCopy>>

/** Reports whether an error would recur with every further conversation, possibly after a long wait. */
export const isOfStore = ({ _tag }: CopyError): boolean =>
  _tag === 'OutcomeUnknown' ||
  _tag === 'StoreClosed' ||
  _tag === 'StoreDenied' ||
  _tag === 'StoreFaulty' ||
  _tag === 'StoreFull' ||
  _tag === 'StoreReadOnly' ||
  _tag === 'StoreUnavailable'

export async function* idsOf(store: EventStore): Fallible<CopyError, readonly string[]> {
  const ids: string[] = []
  for await (const names of namePages((after = '') => store.streams(streamOf(''), after, maxPage)))
    for (const name of yield* unwrap(names)) ids.push(conversationOf(name) ?? name)
  return ids
}

/**
 * Plans the copy of each conversation once, parents before their forks. Conversations that are still being imported are included only
 * if the caller named them.
 */
export async function* planOf(
  store: EventStore,
  ids: readonly string[],
  areNamed: boolean,
): Fallible<CopyError, CopyPlan> {
  const plan = new Map<string, E.Either<CopyError, PlannedCopy>>()
  for (const id of ids) {
    const lineage = new Map<string, E.Either<CopyError, PlannedCopy>>()
    let next: string | undefined = id
    while (next !== undefined && !plan.has(next) && !lineage.has(next)) {
      const planned: E.Either<CopyError, PlannedCopy> = await run(look(store, next))
      if (E.isLeft(planned) && isOfStore(planned.left)) return yield planned.left
      if (E.isLeft(planned) && !areNamed && isNotThere(planned.left, next)) break
      lineage.set(next, planned)
      next = E.isRight(planned) ? planned.right.parent : undefined
    }
    for (const [each, planned] of [...lineage].toReversed()) plan.set(each, planned)
  }
  return plan
}

/** Reports whether an error means that the named conversation was never written or is still being imported. */
const isNotThere = (error: CopyError, id: string): boolean =>
  error._tag === 'ImportUnfinished' || (error._tag === 'ConversationNotFound' && error.conversation === id)

/** Maximum number of times to read a conversation's end. It is read again as long as the side streams mention later positions. */
const maxLooks = 10

async function* look(store: EventStore, id: string): Fallible<CopyError, PlannedCopy> {
  const stream = streamOf(id)
  const [first] = yield* unwrap(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
  if (!first) return yield conversationNotFound(id)
  const from = yield* unwrap(originOf(first))
  const offset = from ? from.position + 1 : 0
  for (let looks = 1; ; looks++) {
    const { last, unfinished } = yield* readStreamEnd(store, stream)
    if (unfinished && !last) return yield importUnfinished(id)
    const end = last?.revision ?? -1
    // The side streams are read after the conversation, so that they contain everything started so far for the calls that are copied.
    const { ahead, ...found } = yield* orderOf(store, { id, offset, last: end })
    if (ahead > offset + end && looks < maxLooks) continue
    return { parent: from?.conversation, ...found }
  }
}
