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
import { openCalls } from './calls/open-calls.ts'
import type { ResolvedTurnOptions } from './options.ts'
import type { TurnMeans } from './turn-means.ts'

/** Maximum number of retries when concurrent events prevent results from being recorded. */
const maxStale = 10

/** The written events; `isFollowed` is true if user messages come after them. */
interface MessagesRecord extends WriteResult {
  readonly isFollowed: boolean
}

/** Messages to be recorded after a history, and the user messages that wait for them. */
interface Recording {
  readonly now: Effective
  readonly messages: readonly NewMessage[]
  readonly deferred?: DeferredMessages | undefined
}

/** Results of calls that were open at `now`, and the user messages that already followed the calls. */
interface ResultRecording extends Pick<Recording, 'now' | 'deferred'> {
  readonly content: readonly Block[]
}

/** Reports whether all calls that these results belong to are open. */
const areOpen = (results: readonly Block[], now: Effective): boolean => {
  const open = new Set(openCalls(now).map(({ call }) => call.id))
  return results.every((block) => isBlock(block, 'tool_result') && open.has(block.tool_use_id))
}

/**
 * Records messages right after `now`, before deferred messages and the user's messages since then. Fails with `StaleContext` if any
 * other event intervened; with `keepLate`, the messages are then stored on an abandoned branch.
 */
export async function* recordMessages(
  means: TurnMeans,
  { keepLate }: Pick<ResolvedTurnOptions, 'keepLate'>,
  { now, messages, deferred }: Recording,
): Fallible<WriteError | ReadError, MessagesRecord> {
  const recorded = yield* recordAfter(means, now.at, { messages, deferred })
  if (isStale(recorded) && keepLate)
    yield* unwrap(means.chat.record(messages, { branchAt: (deferred?.before ?? now).at }))
  return yield* unwrap(recorded)
}

/**
 * Records messages after a position, before deferred messages. Tolerates later markers, restores and configurations, and events that
 * were rewound; later user messages are moved to after the recorded messages.
 */
async function* recordAfter(
  means: TurnMeans,
  after: number,
  { messages, deferred }: Omit<Recording, 'now'>,
): Fallible<ReadError, E.Either<WriteError, MessagesRecord>> {
  const { chat, history } = means
  const written = await (
    deferred
      ? moveBack(chat, deferred, { after, messages })
      : chat.record(messages, { after, tolerate: 'markers' })
  )()
  const recorded = E.map((done: WriteResult) => ({ ...done, isFollowed: deferred !== undefined }))(written)
  if (!isStale(recorded)) return recorded
  const later = yield* history()
  const from = deferred?.before.at ?? after
  const since = yield* chat.later(from)
  const path = pathAfter(since, from, later.at)
  if (!path?.every(mayWait)) return recorded
  const said = lastUserMessages(later, since, from)
  return said || !path.some(beginsTurn)
    ? yield* recordAfter(means, later.at, { messages, deferred: said })
    : recorded
}

/** Rewinds to before the user's messages and records them again, after the given messages and the other events since. */
export const moveBack = (
  chat: ConversationHandle,
  { before, said, again }: DeferredMessages,
  { after, messages }: { readonly after: number; readonly messages: readonly NewMessage[] },
): TaskEither<WriteError, WriteResult> =>
  chat.record([...messages, ...said], { rewindTo: before.at, again, after })

/**
 * Records the results of calls that were open at `now`, before any user messages since then.
 */
export async function* recordResults(
  means: TurnMeans,
  settings: ResolvedTurnOptions,
  { now, content, deferred }: ResultRecording,
): Fallible<WriteError | ReadError, void> {
  const { chat, history } = means
  const { maxResult, run: tools } = settings
  const whole = resultMessage(content, { bytes: maxResult, rest: restFor(tools) })
  let results = whole
  let before = now
  let said = deferred
  for (let stale = 0; ; stale++) {
    const written = await (
      said
        ? moveBack(chat, said, { after: before.at, messages: [results] })
        : chat.record(results, { after: before.at, tolerate: 'markers' })
    )()
    if (E.isLeft(written) && written.left._tag === 'EventTooLarge' && results === whole) {
      results = recordableMessage(content, maxResult)
      continue
    }
    if (!isStale(written) || stale > maxStale) {
      yield* unwrap(written)
      return
    }
    const later = yield* history()
    // Neither a configuration nor the result of another call affects these calls.
    if (!said && areOpen(content, later)) {
      before = later
      continue
    }
    // Messages sent while the tools ran come after the results: otherwise the request would state that the calls have no results.
    const position = said?.before.at ?? before.at
    const since = lastUserMessages(later, yield* chat.later(position), position)
    if (!since || !areOpen(content, since.before)) {
      yield* recordMessages(means, settings, { now: before, messages: [results] })
      return
    }
    said = since
    before = later
  }
}
