import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { type Block, isBlock } from '../../events/blocks.ts'
import type { NewMessage } from '../../commands/command.ts'
import { isStale } from '../../commands/rejections.ts'
import { beginsTurn } from '../../commands/state.ts'
import { recordableMessage, restFor, resultMessage } from '../context/policy/result-limit.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { CommandEnvelope, WriteResult } from '../../conversation/writing/encode.ts'
import type { Effective } from '../../projections/effective.ts'
import { pathAfter } from '../../projections/path.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { ReadError, WriteError } from '../../store/errors.ts'
import { type DeferredMessages, mayWait, lastUserMessages } from './calls/deferred-messages.ts'
import { openCalls } from './calls/open-calls.ts'
import type { ResolvedTurnOptions } from './options.ts'
import type { TurnMeans } from './turn-means.ts'
import { workspaceNow } from './workspace-now.ts'

/** Maximum number of retries when concurrent events prevent results from being recorded. */
const maxStale = 10

/** Messages to be recorded after a history, and the user messages that wait for them. */
interface Recording {
  readonly now: Effective
  readonly messages: readonly NewMessage[]
  readonly deferred?: DeferredMessages | undefined
}

/** Reports whether all calls that these results belong to are open. */
const areOpen = (results: readonly Block[], now: Effective): boolean => {
  const open = new Set(openCalls(now).map(({ call }) => call.id))
  return results.every((block) => isBlock(block, 'tool_result') && open.has(block.tool_use_id))
}

/**
 * Records messages right after `now`, before deferred messages and the user's messages since then. Fails with `StaleContext` if any
 * other event intervened; with `keepLate`, the messages are then stored on an abandoned branch.
 *
 * @returns the written events; `isFollowed` is true if user messages come after them
 */
export async function* recordMessages(
  means: TurnMeans,
  { keepLate, workspace }: Pick<ResolvedTurnOptions, 'keepLate' | 'workspace'>,
  { now, messages, deferred }: Recording,
): Fallible<WriteError | ReadError, WriteResult & { readonly isFollowed: boolean }> {
  const { chat } = means
  const files = { workspace: await workspaceNow(workspace) }
  let place: RecordPlace = { after: now.at, said: deferred }
  for (;;) {
    const written = await recordBefore(chat, place, messages, files)()
    const next = isStale(written) ? yield* nextPlace(means, place) : undefined
    if (!next) {
      if (isStale(written) && keepLate)
        yield* unwrap(chat.record(messages, { branchAt: (deferred?.before ?? now).at, ...files }))
      return { ...(yield* unwrap(written)), isFollowed: place.said !== undefined }
    }
    place = next
  }
}

interface RecordPlace {
  readonly after: number
  readonly said: DeferredMessages | undefined
}

/** Returns the place after later markers and before later user messages; undefined if another event intervened. */
async function* nextPlace(
  { chat, history }: TurnMeans,
  { after, said }: RecordPlace,
): Fallible<ReadError, RecordPlace | undefined> {
  const later = yield* history()
  const from = said?.before.at ?? after
  const since = yield* chat.later(from)
  const path = pathAfter(since, from, later.at)
  if (!path?.every(mayWait)) return undefined
  const next = lastUserMessages(later, since, from)
  return next || !path.some(beginsTurn) ? { after: later.at, said: next } : undefined
}

/** Records messages after a position, before the user messages that wait for them. */
const recordBefore = (
  chat: ConversationHandle,
  { after, said }: RecordPlace,
  messages: readonly NewMessage[],
  files: Pick<CommandEnvelope, 'workspace'>,
): TaskEither<WriteError, WriteResult> =>
  said
    ? moveBack(chat, said, { after, messages, ...files })
    : chat.record(messages, { after, tolerate: 'markers', ...files })

/** Rewinds to before the user's messages and records them again, after the given messages and the other events since. */
export const moveBack = (
  chat: ConversationHandle,
  { before, said, again }: DeferredMessages,
  {
    messages,
    ...options
  }: Pick<CommandEnvelope, 'workspace'> & {
    readonly after: number
    readonly messages: readonly NewMessage[]
  },
): TaskEither<WriteError, WriteResult> =>
  chat.record([...messages, ...said], { rewindTo: before.at, again, ...options })

/** Records the results of calls that were open at `now`, before any user messages since then. */
export async function* recordResults(
  means: TurnMeans,
  settings: ResolvedTurnOptions,
  { now, content, deferred }: Omit<Recording, 'messages'> & { readonly content: readonly Block[] },
): Fallible<WriteError | ReadError, void> {
  const { chat, history } = means
  const { maxResult, run: tools, workspace } = settings
  const files = { workspace: await workspaceNow(workspace) }
  const whole = resultMessage(content, { bytes: maxResult, rest: restFor(tools) })
  let results = whole
  let before = now
  let said = deferred
  for (let stale = 0; ; stale++) {
    const written = await recordBefore(chat, { after: before.at, said }, [results], files)()
    if (E.isLeft(written) && written.left._tag === 'EventTooLarge' && results === whole) {
      results = recordableMessage(content, maxResult)
      continue
    }
    if (!isStale(written) || stale > maxStale) return void (yield* unwrap(written))
    const later = yield* history()
    // Neither a configuration nor the result of another call affects these calls.
    if (said || !areOpen(content, later)) {
      // Messages sent while the tools ran come after the results: otherwise the request would state that the calls have no results.
      const position = said?.before.at ?? before.at
      const since = lastUserMessages(later, yield* chat.later(position), position)
      if (!since || !areOpen(content, since.before))
        return void (yield* recordMessages(means, settings, { now: before, messages: [results] }))
      said = since
    }
    before = later
  }
}
