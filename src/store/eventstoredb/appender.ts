import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fallible } from '../../result/fallible.ts'
import { type Conflict, conflict, historyLost, outcomeUnknown, type StoreError } from '../errors.ts'
import { type Connection, firstPause, longestPause, type StreamsClient } from './connection.ts'
import { finalFailure, noAnswer, refusedError, storeDenied } from './failures.ts'
import {
  actualRevision,
  appendLimit,
  type BatchAppendError,
  type BatchAppendResp,
  kindOf,
  revisionWritten,
} from './responses.ts'
import { appendRequest, type ProposedEvent } from './requests.ts'
import { appendMargin } from './settings.ts'

/** Result of one attempt to append: written, an error, or an unknown outcome. */
type Answer =
  | { readonly type: 'written'; readonly revision: number }
  | { readonly type: 'error'; readonly error: BatchAppendError }
  | { readonly type: 'unknown'; readonly cause: unknown }

export interface AppendTo {
  readonly stream: string
  /** Expected last revision of the stream; -1 if the stream must not exist; `any` to append regardless of the revision. */
  readonly expected: number | 'any'
  readonly events: readonly ProposedEvent[]
}

/** Result of an append: the revision of its last event. */
export interface AppendedRevision {
  readonly revision: number
}

export type StreamAppender = (append: AppendTo) => Fallible<StoreError | Conflict, AppendedRevision>

/** A streaming call over which any number of appends are sent, each with a correlation id. */
interface Line {
  readonly client: StreamsClient
  readonly call: ReturnType<StreamsClient['batchAppend']>
  readonly pending: Map<string, (answer: Answer) => void>
  readonly end: () => void
}

/**
 * Creates an appender, which sends its appends over one streaming call at a time. Without a clear answer (a deadline, a broken
 * connection, a new leader), the outcome of an append is unknown. The same events are then sent again, at the same expected revision,
 * until the outcome is known or `settings.patience` has passed (`OutcomeUnknown`). The server recognises events that it already has.
 */
export const appender = (connection: Connection): StreamAppender => {
  const { settings } = connection
  let line: Promise<Line> | undefined

  const open = (): Promise<Line> => {
    const opened = connection.once(async (client) => {
      const pending: Line['pending'] = new Map()
      const call = client.batchAppend(...connection.callArguments(Infinity))
      /** Ends the streaming call; the outcome of its pending appends is then unknown. Other calls and other stores are not affected. */
      const drop = (cause: unknown): void => {
        if (line === opened) line = undefined
        for (const settle of pending.values()) settle({ type: 'unknown', cause })
        end()
      }
      const end = connection.tracked(() => call.cancel())
      call.on('data', (response: BatchAppendResp) => {
        const id = response.getCorrelationId()?.getString() ?? ''
        const error = response.getError()
        pending.get(id)?.(
          error ? { type: 'error', error } : { type: 'written', revision: revisionWritten(response) },
        )
      })
      call.on('error', (cause) => {
        drop(cause)
        connection.failed(client, cause)
      })
      call.on('end', () => drop(new Error('the server ended the request')))
      return { client, call, pending, end }
    })
    return opened
  }

  const attempt = async ({ stream, expected, events }: AppendTo): Promise<Answer> => {
    const opened = (line ??= open())
    /** Stops sending appends over this streaming call; its pending appends continue. */
    const leave = (): void => {
      if (line === opened) line = undefined
    }
    try {
      const { client, call, pending, end } = await opened
      const id = randomUUID()
      return await new Promise<Answer>((resolve) => {
        const timer = setTimeout(() => {
          const cause = noAnswer(settings.attempt)
          leave()
          connection.failed(client, cause)
          settle({ type: 'unknown', cause })
        }, settings.attempt)
        const settle = (answer: Answer): void => {
          clearTimeout(timer)
          pending.delete(id)
          if (line !== opened && pending.size === 0) end()
          resolve(answer)
        }
        pending.set(id, settle)
        call.write(appendRequest(id, stream, expected, events))
      })
    } catch (cause) {
      leave()
      return { type: 'unknown', cause }
    }
  }

  return async function* (request) {
    const end = performance.now() + settings.patience
    for (let pause = firstPause, isFirst = true; ; pause = Math.min(pause * 2, longestPause)) {
      const answer = await attempt(request)
      if (answer.type === 'written') return { revision: answer.revision }
      const final = finalError(settings.url, request, answer)
      // A rejection (credentials, size) does not reveal the outcome of an earlier attempt.
      if (final && (isFirst || final._tag === 'Conflict')) return yield final
      if (final || connection.closing.aborted || performance.now() + pause > end)
        return yield outcomeUnknown(
          request.stream,
          request.events.map(({ id }) => id),
          answer.type === 'unknown' ? answer.cause : answer.error.getMessage(),
        )
      isFirst = false
      await sleep(pause)
    }
  }
}

/** Returns the error of a final answer; undefined if the events may still be written, or may already have been. */
const finalError = (
  store: string,
  { stream, expected }: AppendTo,
  answer: Exclude<Answer, { readonly type: 'written' }>,
): StoreError | Conflict | undefined => {
  if (answer.type === 'unknown') return finalFailure(store, answer.cause)
  const { error } = answer
  const actual = actualRevision(error)
  if (actual !== undefined && expected !== 'any') return conflict(stream, expected, actual)
  const limit = appendLimit(error)
  if (limit !== undefined)
    return refusedError(
      store,
      `the server accepts at most ${limit} bytes in one append, fewer than assumed: add maxAppendBytes=${Math.max(limit - appendMargin, 1)} to the URL, or raise MaxAppendSize on the server`,
    )
  switch (kindOf(error)) {
    case 'StreamDeleted':
      return historyLost(stream, 'it was permanently deleted')
    case 'AccessDenied':
      return storeDenied(store, error.getMessage())
    case 'BadRequest':
      return refusedError(store, error.getMessage())
    default:
      return undefined
  }
}
