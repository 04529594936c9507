import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { type Block, isBlock } from '../../events/blocks.ts'
import type { NewMessage } from '../../commands/command.ts'
import { isStale } from '../../commands/rejections.ts'
import { beginsTurn } from '../../commands/state.ts'
import { recordableMessage, restFor, resultMessage } from '../context/policy/result-limit.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { WriteResult } from '../../conversation/writing/encode.ts'
import type { Effective } from '../../projections/effective.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { ReadError, WriteError } from '../../store/errors.ts'
import { type DeferredMessages, mayWait, pathAfter, lastUserMessages } from './calls/deferred-messages.ts'
import type { LiveHistory } from './calls/live.ts'
import { openCalls } from './calls/open-calls.ts'
import type { ResolvedTurnOptions } from './options.ts'

/** Maximum number of retries when concurrent events prevent results from being recorded. */
const maxStale = 10

/** The written events; `isHolding` is true if user messages come after them. */
interface Landed extends WriteResult {
  readonly isHolding: boolean
}

/** Reports whether all calls that these results belong to are open. */
const areOpen = (results: readonly Block[], now: Effective): boolean => {
  const open = new Set(openCalls(now).map(({ call }) => call.id))
  return results.every((block) => isBlock(block, 'tool_result') && open.has(block.tool_use_id))
}

/** Returns functions that record the messages of a turn even if events were added since the history was read. */
export const createTurnRecorder = (
  chat: ConversationHandle,
  history: LiveHistory,
  current: () => Pick<ResolvedTurnOptions, 'keepLate' | 'maxResult' | 'run'>,
) => {
  /**
   * Records messages right after `now`, before deferred messages and the user's messages since then. Fails with `StaleContext` if any
   * other event intervened; with `keepLate`, the messages are then stored on an abandoned branch.
   */
  async function* land(
    now: Effective,
    messages: readonly NewMessage[],
    held?: DeferredMessages,
  ): Fallible<WriteError | ReadError, Landed> {
    const landed = yield* landAfter(now.at, messages, held)
    if (isStale(landed) && current().keepLate)
      yield* unwrap(chat.record(messages, { branchAt: (held?.before ?? now).at }))
    return yield* unwrap(landed)
  }

  /**
   * Records messages after a position, before deferred messages. Tolerates later markers, restores and configurations, and events that
   * were rewound; later user messages are moved to after the recorded messages.
   */
  async function* landAfter(
    after: number,
    messages: readonly NewMessage[],
    held: DeferredMessages | undefined,
  ): Fallible<ReadError, E.Either<WriteError, Landed>> {
    const written = await (
      held ? moveBack(held, after, ...messages) : chat.record(messages, { after, tolerate: 'markers' })
    )()
    const landed = E.map((done: WriteResult): Landed => ({ ...done, isHolding: held !== undefined }))(written)
    if (!isStale(landed)) return landed
    const later = yield* history()
    const from = held?.before.at ?? after
    const since = yield* chat.later(from)
    const path = pathAfter(since, from, later.at)
    if (!path?.every(mayWait)) return landed
    const said = lastUserMessages(later, since, from)
    return said || !path.some(beginsTurn) ? yield* landAfter(later.at, messages, said) : landed
  }

  /** Returns the user messages at the end of the history, after a position. */
  async function* saidSince(
    now: Effective,
    position: number,
  ): Fallible<ReadError, DeferredMessages | undefined> {
    return lastUserMessages(now, yield* chat.later(position), position)
  }

  /** Rewinds to before the user's messages and records them again, after the given messages and the other events since. */
  const moveBack = (
    { before, said, again }: DeferredMessages,
    after: number,
    ...messages: readonly NewMessage[]
  ): TaskEither<WriteError, WriteResult> =>
    chat.record([...messages, ...said], { rewindTo: before.at, again, after })

  /**
   * Records the results of calls that were open at `now`, before any user messages since then.
   *
   * @param held user messages that already followed the calls when the turn examined them
   */
  async function* record(
    now: Effective,
    content: readonly Block[],
    held?: DeferredMessages,
  ): Fallible<WriteError | ReadError, WriteResult> {
    const { maxResult, run: tools } = current()
    const whole = resultMessage(content, { bytes: maxResult, rest: restFor(tools) })
    let results = whole
    let before = now
    let said = held
    for (let stale = 0; ; stale++) {
      const written = await (
        said
          ? moveBack(said, before.at, results)
          : chat.record(results, { after: before.at, tolerate: 'markers' })
      )()
      if (E.isLeft(written) && written.left._tag === 'EventTooLarge' && results === whole) {
        results = recordableMessage(content, maxResult)
        continue
      }
      if (!isStale(written) || stale > maxStale) return yield* unwrap(written)
      const later = yield* history()
      // Neither a configuration nor the result of another call affects these calls.
      if (!said && areOpen(content, later)) {
        before = later
        continue
      }
      // Messages sent while the tools ran come after the results: otherwise the request would state that the calls have no results.
      const since = yield* saidSince(later, said?.before.at ?? before.at)
      if (!since || !areOpen(content, since.before)) return yield* land(before, [results])
      said = since
      before = later
    }
  }

  return { land, saidSince, moveBack, record }
}

export type TurnRecorder = ReturnType<typeof createTurnRecorder>
