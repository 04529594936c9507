import * as E from 'fp-ts/lib/Either.js'
import { orAborted } from '../abort.ts'
import { errorText } from '../error-text.ts'
import type { CallOptions, ModelError, Reply, ReplyEvent } from '../model.ts'
import { type PartialReply, type Dialect, failureOf, spoiltBy, modelStalled } from './failures.ts'
import { replyDraft } from './reply.ts'
import { hear, watch } from './watch.ts'

/** Response whose stream has begun, as the SDKs return it. */
export interface StreamResponse {
  readonly data: AsyncIterable<object>
  readonly response: Response
  readonly request_id?: string | null | undefined
}

/** API-specific parts of a streaming call. */
export interface Endpoint {
  /** Sends the request and returns the response once its stream has begun. */
  readonly begin: (signal: AbortSignal) => Promise<StreamResponse>
  /** Translates a part of this API's stream into the equivalent events of the Messages API's stream, in order. */
  readonly eventsOf: (part: object) => readonly ReplyEvent[]
  /** Returns the events to add when the stream has ended properly. */
  readonly ending?: () => readonly ReplyEvent[]
  readonly dialect: Dialect
}

const defaultStallTimeout = 60_000

/** Sends one request and reads its reply, event by event. The reply counts only if its stream ended properly. */
export const streamCall = async (
  { begin, eventsOf, ending, dialect }: Endpoint,
  { signal, onEvent, stallTimeout = defaultStallTimeout }: CallOptions,
): Promise<E.Either<ModelError, Reply>> => {
  const watched = watch(signal, stallTimeout)
  let draft = replyDraft()
  /** Error thrown by the listener, or while reading an event, rather than by the API. */
  let spoilt: { readonly error: unknown } | undefined
  const take = (events: () => readonly ReplyEvent[]): void => {
    try {
      for (const event of events()) {
        // The listener may have ended the call.
        if (watched.signal.aborted) return
        draft.add(event)
        tell(event)
      }
    } catch (error) {
      spoilt ??= { error }
      throw error
    }
  }
  const tell = (event: ReplyEvent): void => {
    try {
      onEvent?.(event)
    } catch (cause) {
      spoilt = { error: new Error(`onEvent threw: ${errorText(cause)}`, { cause }) }
      throw cause
    }
  }
  const read = async (): Promise<void> => {
    const begun = await begin(watched.signal)
    hear(begun.response, watched.alive)
    draft = replyDraft(begun.request_id)
    for await (const part of begun.data) {
      watched.alive()
      take(() => eventsOf(part))
      if (watched.signal.aborted) return
    }
    if (ending) take(ending)
  }
  const failed = (error: unknown): ModelError => {
    const broken: PartialReply = { partial: draft.partial(), usage: draft.usage() }
    if (spoilt) return spoiltBy(spoilt.error, broken)
    return watched.isStalled()
      ? modelStalled(stallTimeout, broken)
      : failureOf(error, signal, dialect, broken)
  }
  try {
    await orAborted(read(), watched.signal)
    // If the connection is closed properly halfway, the stream ends like a complete one.
    const reply = draft.whole()
    return reply ? E.right(reply) : E.left(failed(undefined))
  } catch (error) {
    return E.left(failed(error))
  } finally {
    watched.end()
  }
}
