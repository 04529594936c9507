import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { pino } from 'pino'
import type { Store } from '../index.ts'
import { toError } from '../result/typed-error.ts'
import { watchConnections } from './connections.ts'
import { loopback } from './guard.ts'
import { listener } from './listener.ts'
import type { ServedRequest } from './metrics.ts'
import { pageIn } from './page.ts'
import type { EventRelay } from './relay.ts'
import { heartbeat } from './sse.ts'
import { accessTokensIn } from './access-tokens.ts'
import type { ServerSettings } from './settings.ts'

export interface ServeOptions {
  readonly store: Store
  /** Port to listen on; 0 means any free port. Default 4141. */
  readonly port?: number | undefined
  /** Address to listen on. Any other than loopback requires `tokenFile`. Default 127.0.0.1. */
  readonly host?: string | undefined
  /** Host names by which clients may call the server, in addition to loopback and `host`. */
  readonly names?: readonly string[] | undefined
  readonly isReadOnly?: boolean | undefined
  /** Function as in `ServerSettings`. */
  readonly writeProblem?: ServerSettings['writeProblem']
  /** Function as in `ServerSettings`. */
  readonly warnings?: ServerSettings['warnings']
  /** File with the access tokens. Default: no tokens, so that anyone on this machine may call. */
  readonly tokenFile?: string | undefined
  /** Folder of the built page. Default: the folder in the package. */
  readonly page?: string | undefined
  /** Folder of the page for HTML exports. Default: the folder in the package. */
  readonly pageFile?: URL | undefined
  /** Source of live events from workers in this process. Default: events that other processes post to the server. */
  readonly relay?: EventRelay | undefined
  /** Stream for the access log, one line of JSON per request. Default: no log. */
  readonly log?: NodeJS.WritableStream | undefined
  /**
   * Time, in milliseconds, after which a connection is closed if the server waits for its client to send or read data, and the client
   * does neither. Default: one minute.
   */
  readonly stall?: number | undefined
  /** Time after which a requested turn's stream ends if no worker serves the store, in milliseconds. Default 30,000. */
  readonly unservedAfter?: number | undefined
}

/** A running server. */
export interface ServerHandle {
  readonly url: string
  /** Completes requests in progress, ends event streams, and accepts no more requests. */
  readonly close: () => Promise<void>
}

/** Error that prevents a server from starting. */
export interface ServeError {
  readonly _tag: 'TokenRequired' | 'PortTaken' | 'HostUnusable'
  readonly message: string
}
const serveError = (_tag: ServeError['_tag'], message: string) => toError({ _tag, message })

/** Time limit for requests in progress when the server ends, in milliseconds. */
const grace = 10_000
/** Time limit for receiving a request, in milliseconds. */
const patience = 120_000
/**
 * Time for which a connection without a pending request stays open, in milliseconds. It is longer than the minute for which proxies
 * usually reuse a connection: a request sent on a connection that the server is closing fails.
 */
const idle = 75_000
/** Size of the data that may wait for a connection before the next data are made, in bytes. Readers may stop reading. */
const queued = 16_384
/** Interval between checks for idle connections while the server ends, in milliseconds. */
const sweepEvery = 20

/** Serves a store over HTTP. Rejects with a `ServeError` or a `TokenFileError`. */
export const serve = async (options: ServeOptions): Promise<ServerHandle> => {
  const { store, port = 4141, host = '127.0.0.1', names = [], isReadOnly, tokenFile, relay, log } = options
  const { stall = 60_000 } = options
  // While many requests wait for the disk, V8 concludes that their objects are long-lived, and allocates the objects of later requests
  // in the old generation. There, each object keeps everything that it refers to alive until the next full collection. That would take
  // a sixth of the server's time in appends, and 50 MB.
  setFlagsFromString('--no-allocation-site-pretenuring')
  const isLocal = loopback.includes(host) || host === '::1'
  if (!isLocal && tokenFile === undefined)
    throw serveError(
      'TokenRequired',
      `other machines can reach ${host}: add --token-file (created by palimpsest serve token create), or listen on 127.0.0.1`,
    )
  const logger = log && pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, log)
  const tokens =
    tokenFile === undefined ? undefined : accessTokensIn(tokenFile, (error) => logger?.error(error))
  const ending = new AbortController()
  const settings = {
    store,
    isReadOnly,
    writeProblem: options.writeProblem,
    warnings: options.warnings,
    page: pageIn(options.page),
    pageFile: options.pageFile,
    hosts: [...names, ...(isLocal ? [] : [host])].map((name) => name.toLowerCase()),
    ...(tokens && { authenticate: tokens, tokenProblem: tokens.problem }),
    relay,
    // Not logged, because workers that relay post several times a second.
    onRequest: (request: ServedRequest) => request.route?.endsWith('/relay') || logger?.info(request),
    onFault: (error: unknown) => logger?.error(error),
    onReadiness: (problem: string | undefined) =>
      problem === undefined ? logger?.info({ ready: true }) : logger?.error({ ready: false, problem }),
    ending: ending.signal,
    heartbeat: Math.min(heartbeat, stall / 4),
    unservedAfter: options.unservedAfter,
  }
  const limits = {
    requestTimeout: patience,
    headersTimeout: 20_000,
    maxHeaderSize: 16_384,
    keepAliveTimeout: idle,
    highWaterMark: queued,
  }
  const server = createServer(limits, listener(settings, host))
  const closeIdle = watchConnections(server, stall)
  await listening(server, port, host)
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host.replaceAll(/[[\]]/g, '')}]` : host}:${taken}`,
    close: async () => {
      ending.abort()
      const closed = new Promise((resolve) => server.close(resolve))
      // Without this, a connection whose stream has ended would be kept open for its next request.
      const sweep = setInterval(closeIdle, sweepEvery)
      const late = setTimeout(() => server.closeAllConnections(), grace)
      await closed
      clearInterval(sweep)
      clearTimeout(late)
    },
  }
}

const listening = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      reject(
        isTaken
          ? serveError('PortTaken', `port ${port} is taken: choose another one with --port`)
          : serveError('HostUnusable', `cannot listen on ${host}: ${error.message}`),
      )
    })
    server.listen(port, host.replaceAll(/[[\]]/g, ''), resolve)
  })
