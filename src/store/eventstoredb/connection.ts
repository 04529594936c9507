import { setMaxListeners } from 'node:events'
import { EventStoreDBClient } from '@eventstore/db-client'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { Fallible } from '../../result/fallible.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { finalFailure, isOfConnection, leaderNamedIn, noAnswer, reasonOf, unavailable } from './failures.ts'
import { nodeToCall } from './nodes.ts'
import { type ChannelMaker, type Secure, secureBy } from './secure.ts'
import type { Credentials, ConnectionSettings } from './settings.ts'
import { within } from './within.ts'

export type StreamsClient = InstanceType<typeof streamsServices.StreamsClient>
type CallArguments = Parameters<StreamsClient['batchAppend']>

/**
 * Internals of the client library: channels, deadlines and credentials. The library's public methods are unsuitable. An append stores
 * its answer in a table shared by all clients of the process and has no deadline. A read has no deadline either, and ending one early
 * closes the channel for every user (docs/adr/0009-the-client-connects-we-speak.md). The library's search for the leader is also
 * unsuitable (nodes.ts).
 */
interface Internals extends ChannelMaker {
  /** Returns the channel for clients created later. */
  getChannel: () => Promise<unknown>
  readonly capabilities: Promise<Features>
  readonly createGRPCClient: (service: typeof streamsServices.StreamsClient) => Promise<StreamsClient>
  readonly callArguments: (
    options: {
      readonly credentials?: Credentials
      readonly requiresLeader: true
      readonly deadline?: number
    },
    call?: { readonly deadline: number },
  ) => [metadata: NonNullable<CallArguments[0]>, options: NonNullable<CallArguments[1]>]
}

interface Features {
  readonly serverVersion: string
  readonly supports: (method: { readonly path: string }) => boolean
}

/** A connection to a server, or to a cluster's leader. */
export interface Connection {
  readonly settings: ConnectionSettings
  /** Returns the credentials and the deadline to pass to a call; `deadline` is in milliseconds from now. */
  readonly callArguments: (deadline: number) => ReturnType<Internals['callArguments']>
  /** Runs an action once. Rejects if no leader is found within the time for one attempt. */
  readonly once: <T>(action: (client: StreamsClient) => Promise<T>) => Promise<T>
  /**
   * Repeats a read-only action until it succeeds or `settings.patience` has passed.
   *
   * @param finalOf returns the error for a failure that another attempt would not fix
   */
  readonly again: <T>(
    action: (client: StreamsClient) => Promise<T>,
    finalOf?: (failure: unknown) => StoreError | undefined,
  ) => Fallible<StoreError, T>
  /** Records that a call outside `once` failed or was not answered in time (`noAnswer`). */
  readonly failed: (client: StreamsClient, error: unknown) => void
  /** Registers a call to be cancelled when the connection ends. The returned function cancels the call at once. */
  readonly tracked: (cancel: () => void) => () => void
  /** Returns the server's features as determined by the client library. Requires a connection: call `once` first. */
  readonly features: () => Promise<Features>
  /** Signal that aborts when closing begins; after that, nothing is started or retried. */
  readonly closing: AbortSignal
  /** Waits for work in progress, then ends every call. */
  readonly close: (underWay?: Iterable<Promise<unknown>>) => Promise<void>
}

/** Creates a connection; nothing is sent before the first call. */
export const connect = (settings: ConnectionSettings): E.Either<InvalidInput, Connection> => {
  const client = clientOf(settings.connectionString)
  if (E.isLeft(client)) return client
  const internals = client.right as unknown as Internals
  const calls = new Set<() => void>()
  const closing = new AbortController()
  // One listener per follower.
  setMaxListeners(0, closing.signal)
  const ended = new AbortController()
  setMaxListeners(0, ended.signal)
  const { resolveUri } = internals
  let securing: Promise<Secure | undefined> | undefined
  let current: Promise<StreamsClient> | undefined
  let newest: StreamsClient | undefined
  let named: string | undefined

  const open = async (signal: AbortSignal): Promise<StreamsClient> => {
    const secure = await (securing ??= secureBy(internals))
    const leader = named
    named = undefined
    // Connecting through a proxy is left to the gRPC library, which supports proxies.
    const node = secure && !hasProxy() ? await nodeToCall(settings, leader, { secure, signal }) : leader
    internals.resolveUri = node === undefined ? resolveUri : () => Promise.resolve(node)
    const channel = await internals.createChannel()
    internals.getChannel = () => Promise.resolve(channel)
    const found = await internals.createGRPCClient(streamsServices.StreamsClient)
    try {
      await reached(found, settings.nodePatience ?? settings.attempt)
      signal.throwIfAborted()
    } catch (error) {
      found.close()
      throw error
    }
    newest = found
    return found
  }
  const drop = (failing: StreamsClient): void => {
    if (failing !== newest) return
    newest = undefined
    current = undefined
    failing.close()
  }
  const leader = (): Promise<StreamsClient> => {
    // A broken channel would reconnect to the same node, which may be frozen.
    if (newest && !ready.has(newest.getChannel().getConnectivityState(false))) drop(newest)
    if (current) return current
    const opening = within(settings.attempt, ended.signal, open).catch((error: unknown) => {
      if (current === opening) current = undefined
      throw error
    })
    return (current = opening)
  }
  const failed: Connection['failed'] = (failing, error) => {
    const other = leaderNamedIn(error)
    // A channel that fell silent may stay silent, so it is replaced too.
    if (failing !== newest || (other === undefined && !isOfConnection(error))) return
    named = other
    drop(failing)
  }
  const once: Connection['once'] = async (action) => {
    const found = await leader()
    try {
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
    features: () => internals.capabilities,
    tracked: (cancel) => {
      calls.add(cancel)
      return () => {
        if (calls.delete(cancel)) cancel()
      }
    },
    closing: closing.signal,
    close: async (underWay = []) => {
      closing.abort()
      await Promise.allSettled(underWay)
      ended.abort(new Error('the connection is closed'))
      for (const cancel of calls) cancel()
      calls.clear()
      newest?.close()
    },
  })
}

// https://grpc.io/docs/guides/connectivity-semantics-and-api
const connecting = new Set([0, 1])
const ready = new Set([2])

/** Reports whether the gRPC library may connect through a proxy (its http_proxy.js). */
const hasProxy = (): boolean => ['grpc_proxy', 'https_proxy', 'http_proxy'].some((name) => process.env[name])

/**
 * Waits until the channel is connected or has failed; a failure then surfaces in the call. The wait is limited because a frozen node
 * never answers. Its operating system still accepts connections, and the other nodes name it as the leader until they elect another.
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

/** First pause between attempts, in milliseconds. */
export const firstPause = 20
export const longestPause = 500

const clientOf = (connectionString: string): E.Either<InvalidInput, EventStoreDBClient> => {
  try {
    return E.right(EventStoreDBClient.connectionString(connectionString))
  } catch (error) {
    return E.left(invalidInput('url', reasonOf(error)))
  }
}
