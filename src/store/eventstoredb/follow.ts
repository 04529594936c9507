import { setTimeout as sleep } from 'node:timers/promises'
import { toError } from '../../result/typed-error.ts'
import type { FollowItem, FollowOptions } from '../port.ts'
import { type Connection, firstPause, longestPause, type StreamsClient } from './connection.ts'
import { finalFailure, reasonOf, unavailable } from './failures.ts'
import {
  checkpointOf,
  eventIn,
  isOfServer,
  type LogPosition,
  placeReached,
  type ReadResp,
  recordedEventOf,
} from './responses.ts'
import { subscribeRequest } from './requests.ts'

/**
 * Follows streams by prefix, filtered on the server. If a subscription breaks, a new one starts at the last log position reached, so
 * that no event is missed or repeated. With `untilBroken`, the failure is thrown instead.
 */
export async function* follow(
  connection: Connection,
  after: LogPosition | undefined,
  { prefixes = [''], signal, untilBroken }: FollowOptions,
): AsyncGenerator<FollowItem, void> {
  const over = signal ? AbortSignal.any([signal, connection.closing]) : connection.closing
  let place = after
  let pause = firstPause
  while (!over.aborted) {
    let client: StreamsClient | undefined
    try {
      client = await connection.once(async (current) => current)
      for await (const response of responsesTo(
        connection,
        client,
        subscribeRequest({ on: 'stream', prefixes }, place),
        over,
      )) {
        pause = firstPause
        const event = eventIn(response)
        const reached = event?.place ?? placeReached(response)
        place = reached ?? place
        if (!reached || (event && isOfServer(event))) continue
        const checkpoint = checkpointOf(reached)
        if (event) yield { type: 'event', event: recordedEventOf(event), checkpoint }
        else yield { type: 'checkpoint', checkpoint }
        if (over.aborted) return
      }
    } catch (failure) {
      if (over.aborted) return
      const final = finalFailure(connection.settings.url, failure)
      if (final) throw toError(final)
      if (client) connection.failed(client, failure)
      if (untilBroken) throw toError(unavailable(connection.settings.url, reasonOf(failure), failure))
    }
    await sleep(pause, undefined, { signal: over }).catch(() => undefined)
    pause = Math.min(pause * 2, longestPause)
  }
}

/** Yields the responses to a subscription until it breaks, is aborted, or the caller stops. */
async function* responsesTo(
  connection: Connection,
  client: StreamsClient,
  request: ReturnType<typeof subscribeRequest>,
  over: AbortSignal,
): AsyncGenerator<ReadResp, void> {
  if (over.aborted) return
  const call = client.read(request, ...connection.callArguments(Infinity))
  const cancel = (): void => call.cancel()
  over.addEventListener('abort', cancel)
  // A cancelled call emits an error, possibly when nothing listens any more.
  call.on('error', () => undefined)
  try {
    yield* call as AsyncIterable<ReadResp>
  } finally {
    over.removeEventListener('abort', cancel)
    cancel()
  }
}
