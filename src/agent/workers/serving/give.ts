import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../../../events/errors.ts'
import { isFields } from '../../../events/json.ts'
import { modelAborted, orAborted } from '../../models/abort.ts'
import { memo } from '../../../projections/memo.ts'
import { errorText } from '../../models/error-text.ts'
import { placesOf, shortPlace } from '../../../result/error-place.ts'
import { catchTyped, run } from '../../../result/fallible.ts'
import { render } from '../../../projections/render/renderer.ts'
import { nothingToAnswer, type NothingToAnswer } from '../../turn/errors.ts'
import type { TurnOptions } from '../../turn/options.ts'
import { isRefusedOptions } from '../../turn/settle.ts'
import type { TurnEvent } from '../../turn/stream-turn.ts'
import type { TurnResult, TurnError } from '../../turn/turn-result.ts'
import { createTurnRunner } from '../../turn/turn-runner.ts'

/** An event of a turn that a worker runs. */
export interface ServedEvent {
  readonly conversation: string
  readonly event: TurnEvent
}

/** The program's own code threw, in the function that returns the options of a turn or in a function of these options. */
export interface AgentFailed {
  readonly _tag: 'AgentFailed'
  readonly message: string
  readonly cause: unknown
}

/** Error of a turn that a worker ran. */
export type GivenError = (TurnError | AgentFailed) & {
  /** True if the options themselves are refused, regardless of the conversation. */
  readonly isOfOptions?: boolean
}
type Given = E.Either<TurnError, TurnResult>

/** Wraps a listener so that its errors are ignored and do not end the turn. */
export const quietly =
  <T>(listener: ((told: T) => void) | undefined) =>
  (told: T): void => {
    try {
      listener?.(told)
    } catch {
      // There is nobody to report the error to.
    }
  }

/** Returns a conversation handle's turn runner. It is reused, so that each turn begins with the history left by the previous one. */
export const turnRunnerOf = memo((chat: ConversationHandle) => createTurnRunner(chat))

const streamed = (
  chat: ConversationHandle,
  options: TurnOptions,
  onEvent: (served: ServedEvent) => void,
): Promise<Given> =>
  run(
    catchTyped<TurnError & Error, TurnResult>(async () => {
      for await (const event of turnRunnerOf(chat).stream(options)) {
        onEvent({ conversation: chat.id, event })
        if (event.type === 'done') return event.turned
      }
      throw new Error('the turn has ended without a result')
    }),
  )

/** Returns the error of a conversation that surely does not await the model; undefined if it may, or cannot be read. */
const idleErrorOf = async (chat: ConversationHandle): Promise<NothingToAnswer | undefined> => {
  const read = await run(turnRunnerOf(chat).ahead())
  if (E.isLeft(read) || read.right.mail.length > 0) return undefined
  const { now } = read.right
  const last = now.items.at(-1)
  // The usual case, for which nothing is rendered.
  if (last?.kind === 'message' && last.role === 'user') return undefined
  // The options of the turn are not known yet: with this one, a system message may be answered.
  const { awaits } = render(now, { systemMessages: true })
  return awaits === 'model' ? undefined : nothingToAnswer(chat.id, awaits)
}

const agentFailed = (error: unknown): AgentFailed => {
  const [cause, place] = [causeOf(error), placeOf(error)]
  const why = cause === undefined ? '' : ` (cause: ${errorText(cause)})`
  const at = place === undefined ? '' : `, at ${place}`
  return { _tag: 'AgentFailed', message: `the agent threw ${errorText(error)}${why}${at}`, cause: error }
}

/** Returns the place in the program where an error was thrown, if possible outside of the packages that the program uses. */
const placeOf = (error: unknown): string | undefined => {
  // The error of a call that could not be sent may have no place of its own.
  const places = [error, causeOf(error)].flatMap(placesOf)
  const place = places.find((each) => !/[\\/]node_modules[\\/]/.test(each)) ?? places[0]
  return place === undefined ? undefined : shortPlace(place)
}

/** Returns the cause of an error, which says more than the error if that is only `fetch failed`; undefined if it has none. */
const causeOf = (error: unknown): unknown => {
  const cause = error instanceof Error ? error.cause : undefined
  // A connection is tried at each address of a host; all have failed.
  return cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause
}

/** Marks an error as one of the options. The message of an error that a stream has thrown is not copied by a spread. */
const ofOptions = (error: TurnError): GivenError => ({ ...error, message: error.message, isOfOptions: true })

const noOptions = (given: unknown): InvalidInput =>
  invalidInput(
    '',
    `the agent's function returned ${given === undefined ? 'nothing' : 'no options'}: return the options of a turn, such as { client, model }`,
  )

/**
 * Runs one turn. Any error, including one thrown by the program's own functions, counts as a failed attempt. If nothing is left to
 * answer, for example because the message was rewound, these functions are not called: they may throw or end the process each time.
 *
 * @param ends signal that aborts the turn
 */
export const giveTurn = async (
  chat: ConversationHandle,
  ends: AbortSignal,
  optionsOf: () => TurnOptions | Promise<TurnOptions>,
  onEvent: ((served: ServedEvent) => void) | undefined,
): Promise<E.Either<GivenError, TurnResult>> => {
  const idle = await idleErrorOf(chat)
  if (idle) return E.left(idle)
  try {
    const options = await orAborted(optionsOf(), ends)
    if (!isFields(options)) return E.left(ofOptions(noOptions(options)))
    const signal = options.signal ? AbortSignal.any([ends, options.signal]) : ends
    // A recorded partial reply would hinder the worker that has to produce the reply.
    const own = { ...options, signal, keepPartial: false }
    const given = await (onEvent ? streamed(chat, own, quietly(onEvent)) : turnRunnerOf(chat).turn(own)())
    return E.isLeft(given) && isRefusedOptions(own, given.left) ? E.left(ofOptions(given.left)) : given
  } catch (error) {
    return E.left(ends.aborted ? modelAborted(ends) : agentFailed(error))
  }
}

/** Conversations in which a worker most recently ran turns, cached to avoid reading them again. */
export interface ChatCache {
  readonly of: (id: string) => ConversationHandle
  /** Caches a conversation; `size` is the size of its history in characters of JSON. */
  readonly keep: (chat: ConversationHandle, size: number) => void
}

/** Maximum total size of all cached conversations, in characters of JSON. */
const mostOfAll = 16 * 1024 * 1024
/** Size counted for each conversation in addition to its history, in characters of JSON. */
const each = 2_000

export const chatsOf = (open: (id: string) => ConversationHandle, most = mostOfAll): ChatCache => {
  /** Cached conversations, least recently cached first. */
  const kept = new Map<string, { readonly chat: ConversationHandle; readonly size: number }>()
  let total = 0

  const forget = (id: string): void => {
    total -= kept.get(id)?.size ?? 0
    kept.delete(id)
  }

  return {
    of: (id) => kept.get(id)?.chat ?? open(id),
    keep: (chat, its) => {
      forget(chat.id)
      const size = its + each
      kept.set(chat.id, { chat, size })
      total += size
      for (const oldest of kept.keys()) {
        if (total <= most) break
        forget(oldest)
      }
    },
  }
}
