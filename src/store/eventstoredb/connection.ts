import { setMaxListeners } from 'node:events'
import { EventStoreDBClient } from '@eventstore/db-client'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { Steps } from '../../result/steps.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { finalFailure, isTimeOut, noAnswer, reasonOf, unavailable } from './failures.ts'
import { type ChannelMaker, withoutAddressAsName } from './server-name.ts'
import type { Credentials, Settings } from './settings.ts'

export type StreamsClient = InstanceType<typeof streamsServices.StreamsClient>
type CallArguments = Parameters<StreamsClient['batchAppend']>

/**
 * What the client offers its own methods: where the leader is, the channel to it, deadlines and credentials. The methods themselves
 * do not serve: an append keeps its answer in a table that all clients of the process share, and has no deadline; a read has none
 * either, and ending one early closes the channel for everybody (docs/adr/0009-the-client-connects-we-speak.md).
 */
interface Internals extends ChannelMaker {
  /** A client on the channel to the leader. Finding the leader may take long. */
  readonly getGRPCClient: (
    service: typeof streamsServices.StreamsClient,
    name: string,
  ) => Promise<StreamsClient>
  /** Drops the channel of that client, if the error is the channel's and the channel is still the current one. */
  readonly handleError: (client: StreamsClient, error: unknown) => Promise<void>
  readonly callArguments: (
    options: {
      readonly credentials?: Credentials
      readonly requiresLeader: true
      readonly deadline?: number
    },
    call?: { readonly deadline: number },
  ) => [metadata: NonNullable<CallArguments[0]>, options: NonNullable<CallArguments[1]>]
}

/** A connection to a server, or to a cluster's leader. */
export interface Connection {
  readonly settings: Settings
  /** The credentials and the deadline of a call, in milliseconds from now. */
  readonly callArguments: (deadline: number) => ReturnType<Internals['callArguments']>
  /** Runs an action once. Rejects when no leader is found within the time for one attempt. */
  readonly once: <T>(action: (client: StreamsClient) => Promise<T>) => Promise<T>
  /**
   * Runs an action that changes nothing, until it succeeds or patience ends.
   *
   * @param finalOf the error, for a failure that another attempt would not cure
   */
  readonly again: <T>(
    action: (client: StreamsClient) => Promise<T>,
    finalOf?: (failure: unknown) => StoreError | undefined,
  ) => Steps<StoreError, T>
  /** Reports that a call outside `once` failed, or was not answered in time (`noAnswer`). */
  readonly failed: (client: StreamsClient, error: unknown) => void
  /** Cancels a call when the connection ends, or when the returned function is called. */
  readonly tracked: (cancel: () => void) => () => void
  /** For what the client's own methods do well enough. */
  readonly client: EventStoreDBClient
  /** Aborts when closing begins: from then on nothing is started or retried. */
  readonly closing: AbortSignal
  /** Waits for the work under way, then ends every call. */
  readonly close: (underWay?: Iterable<Promise<unknown>>) => Promise<void>
}

/** Makes a connection; nothing is sent before the first call. */
export const connect = (settings: Settings): E.Either<InvalidInput, Connection> => {
  const client = clientOf(settings.connectionString)
  if (E.isLeft(client)) return client
  const internals = client.right as unknown as Internals
  const calls = new Set<() => void>()
  const closing = new AbortController()
  // One listener per follower.
  setMaxListeners(0, closing.signal)
  let named: Promise<void> | undefined
  let newest: StreamsClient | undefined
  let hasEnded = false

  const leader = async (): Promise<StreamsClient> => {
    await (named ??= withoutAddressAsName(internals))
    const found = await internals.getGRPCClient(streamsServices.StreamsClient, 'palimpsest')
    if (hasEnded) {
      found.close()
      throw new Error('the connection is closed')
    }
    newest = found
    return found
  }
  const failed: Connection['failed'] = (failing, error) =>
    void internals
      // A channel that fell silent may stay silent: the client opens another.
      .handleError(failing, isTimeOut(error) ? noAnswer(settings.attempt) : error)
      .catch(() => undefined)
  const once: Connection['once'] = async (action) => {
    const found = await within(settings.attempt, leader())
    try {
      if (settings.nodePatience !== undefined) await reached(found, settings.nodePatience)
      return await action(found)
    } catch (error) {
      failed(found, error)
      throw error
    }
  }

  return E.right({
    settings,
    callArguments: (deadline) =>
      internals.callArguments(
        { requiresLeader: true, ...(settings.credentials && { credentials: settings.credentials }) },
        { deadline: deadline === Infinity ? deadline : Date.now() + deadline },
      ),
    once,
    again: async function* (action, finalOf = () => undefined) {
      const end = performance.now() + settings.patience
      for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
        try {
          return await once(action)
        } catch (failure) {
          const final = finalOf(failure) ?? finalFailure(settings.url, failure)
          if (final) return yield final
          if (closing.signal.aborted) return yield storeClosed(settings.url)
          if (performance.now() + pause > end)
            return yield unavailable(settings.url, reasonOf(failure), failure)
        }
        await sleep(pause)
      }
    },
    failed,
    tracked: (cancel) => {
      calls.add(cancel)
      return () => {
        if (calls.delete(cancel)) cancel()
      }
    },
    client: client.right,
    closing: closing.signal,
    close: async (underWay = []) => {
      closing.abort()
      await Promise.allSettled(underWay)
      hasEnded = true
      for (const cancel of calls) cancel()
      calls.clear()
      newest?.close()
    },
  })
}

const within = async <T>(ms: number, promise: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(noAnswer(ms)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// https://grpc.io/docs/guides/connectivity-semantics-and-api
const connecting = new Set([0, 1])

/**
 * Waits until the channel is connected or has failed; a failure then shows in the call. A frozen node never answers, although its
 * system accepts connections, and the other nodes call it the leader until they have elected another.
 */
const reached = async (client: StreamsClient, ms: number): Promise<void> => {
  const channel = client.getChannel()
  const end = Date.now() + ms
  for (;;) {
    const state = channel.getConnectivityState(true)
    if (!connecting.has(state)) return
    await new Promise<void>((resolve, reject) =>
      channel.watchConnectivityState(state, end, (late) => (late ? reject(noAnswer(ms)) : resolve())),
    )
  }
}

/** Pauses between attempts, in milliseconds. */
export const firstPause = 20
export const longestPause = 500

const clientOf = (connectionString: string): E.Either<InvalidInput, EventStoreDBClient> => {
  try {
    return E.right(EventStoreDBClient.connectionString(connectionString))
  } catch (error) {
    return E.left(invalidInput('url', reasonOf(error)))
  }
}
