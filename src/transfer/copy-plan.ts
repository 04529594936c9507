import * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound } from '../commands/rejections.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import { originOf } from '../conversation/reading/lineage.ts'
import { ok, run, type Steps } from '../result/steps.ts'
import { importUnfinished } from '../store/errors.ts'
import { namePages } from '../store/pages.ts'
import { type EventStore, maxPage } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { orderOf, type CopySegment } from './copy-order.ts'
import type { CopyError } from './copy-stream.ts'

/** A conversation as of the beginning of the copy. */
export interface PlannedCopy {
  /** Id of the conversation that it was forked from. */
  readonly parent: string | undefined
  /** Segments of its own stream, its notes, its queued messages and its turns, in the order in which to copy them. */
  readonly stretches: readonly CopySegment[]
  /** The party giving it a turn, according to the log. */
  readonly holder?: string | undefined
}

export type CopyPlan = ReadonlyMap<string, E.Either<CopyError, PlannedCopy>>

/** True for errors that every further conversation would meet too, possibly after a long wait. */
export const isOfStore = ({ _tag }: CopyError): boolean =>
  _tag === 'OutcomeUnknown' ||
  _tag === 'StoreClosed' ||
  _tag === 'StoreDenied' ||
  _tag === 'StoreFaulty' ||
  _tag === 'StoreFull' ||
  _tag === 'StoreReadOnly' ||
  _tag === 'StoreUnavailable'

export async function* idsOf(store: EventStore): Steps<CopyError, readonly string[]> {
  const ids: string[] = []
  for await (const names of namePages((after = '') => store.streams(streamOf(''), after, maxPage)))
    for (const name of yield* ok(names)) ids.push(conversationOf(name) ?? name)
  return ids
}

/**
 * Plans every conversation to copy once, parents before their forks. Conversations still being imported are included only if they are
 * named.
 */
export async function* planOf(
  store: EventStore,
  ids: readonly string[],
  areNamed: boolean,
): Steps<CopyError, CopyPlan> {
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

/** True if an error means that the named conversation was never written, or is still being imported. */
const isNotThere = (error: CopyError, id: string): boolean =>
  error._tag === 'ImportUnfinished' || (error._tag === 'ConversationNotFound' && error.conversation === id)

/** Maximum number of reads of a conversation's end while its turns are ahead of it. */
const maxLooks = 10

async function* look(store: EventStore, id: string): Steps<CopyError, PlannedCopy> {
  const stream = streamOf(id)
  const [first] = yield* ok(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
  if (!first) return yield conversationNotFound(id)
  const from = yield* ok(originOf(first))
  const offset = from ? from.position + 1 : 0
  for (let looks = 1; ; looks++) {
    const { last, unfinished } = yield* readStreamEnd(store, stream)
    if (unfinished && !last) return yield importUnfinished(id)
    const end = last?.revision ?? -1
    // Read after the conversation: of the calls that are copied, everything is known that was started until then.
    const { ahead, ...found } = yield* orderOf(store, { id, offset, last: end })
    if (ahead > offset + end && looks < maxLooks) continue
    return { parent: from?.conversation, ...found }
  }
}
