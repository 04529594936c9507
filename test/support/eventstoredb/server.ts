import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { append, batchAppend } from './appends.ts'
import type { Context } from './context.ts'
import { deleteStream, tombstoneStream } from './deletes.ts'
import { rpcErrors } from './errors.ts'
import { type Call, type Fault, faults, type FaultSource } from './faults.ts'
import { featuresOf, gossipOf, type Member } from './gossip.ts'
import { Log, type Proposed } from './log.ts'
import { GossipService, ServerFeaturesService, StreamsService } from './protocol.ts'
import { read } from './reads.ts'

export interface EventStoreDb {
  /** `esdb://127.0.0.1:PORT?tls=false` */
  readonly url: string
  readonly port: number
  /** The calls so far, for counting round trips. */
  readonly calls: readonly Call[]
  readonly forgetCalls: () => void
  /** What happens to the next calls: a fault is used up by the calls that it fits; a function is asked for every other call. */
  readonly misbehave: (fault: Fault | FaultSource) => void
  /** Appends without gRPC. `metadata` of an event is empty if it has none. */
  readonly preload: (stream: string, events: Iterable<Proposed>) => void
  /** Drops every connection; refuses new ones until `start`. The data stay. */
  readonly kill: () => Promise<void>
  /** Listens again, on the same port. */
  readonly start: () => Promise<void>
  readonly restart: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface Options {
  /** 0, the default: any. */
  readonly port?: number
  /** Bytes of data, metadata and types of one append; 1 MiB by default. */
  readonly maxAppendSize?: number
  /** Whether the client may use batch append; true by default. */
  readonly hasBatchAppend?: boolean
  readonly version?: string
  /** Asked at every gossip; by default this server is a cluster of one. */
  readonly members?: () => readonly Member[]
  /** Every call must carry these. The client sends credentials over TLS only. */
  readonly credentials?: { readonly username: string; readonly password: string }
  /** PEM. */
  readonly tls?: { readonly certificate: Buffer; readonly key: Buffer }
  /** Milliseconds by which the server's clock is ahead. */
  readonly clockOffset?: number
  /** Events a second that a filtered read of $all looks through; Infinity by default. A real server: some 40,000. */
  readonly scanSpeed?: number
}

const host = '127.0.0.1'
// Of a real server: an event may be as long as a record of its log.
const maxMessageLength = 16 * 1024 * 1024

/** An EventStoreDB in this process, with an empty database. */
export const eventStoreDb = async (options: Options = {}): Promise<EventStoreDb> => {
  const { maxAppendSize = 1024 * 1024, hasBatchAppend = true, version = '24.2.0', clockOffset = 0 } = options
  const { scanSpeed = Infinity } = options
  const log = new Log(() => Date.now() + clockOffset)
  const { add, strike } = faults()
  const calls: Call[] = []
  const sockets = new Map<string, Socket>()
  let { port = 0 } = options

  const context: Context = {
    log,
    maxAppendSize,
    scanSpeed,
    strike: (call) => {
      calls.push(call)
      return strike(call)
    },
    drop: (call) => sockets.get(call.getPeer())?.destroy(),
    denial: (call) => {
      if (!options.credentials) return undefined
      const { username, password } = options.credentials
      const [given] = call.metadata.get('authorization')
      if (given === undefined) return rpcErrors.accessDenied()
      const wanted = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
      return given === wanted ? undefined : rpcErrors.unauthenticated()
    },
    self: () => ({ host, port }),
  }

  const grpc = new Server({ 'grpc.max_receive_message_length': maxMessageLength })
  grpc.addService(StreamsService, {
    append: append(context),
    batchAppend: batchAppend(context),
    read: read(context),
    delete: deleteStream(context),
    tombstone: tombstoneStream(context),
  })
  grpc.addService(GossipService, { read: gossipOf(options.members ?? (() => [context.self()])) })
  grpc.addService(ServerFeaturesService, { getSupportedMethods: featuresOf(version, hasBatchAppend) })

  const { certificate, key } = options.tls ?? {}
  // The sockets are ours, so that one of them, or all at once, can be broken.
  const connections = grpc.createConnectionInjector(
    certificate && key
      ? ServerCredentials.createSsl(null, [{ cert_chain: certificate, private_key: key }])
      : ServerCredentials.createInsecure(),
  )
  const listener = createServer({ noDelay: true }, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    sockets.set(peer, socket)
    socket.on('close', () => sockets.delete(peer))
    connections.injectConnection(socket)
  })

  const start = async (): Promise<void> => {
    listener.listen(port, host)
    await once(listener, 'listening')
    port = (listener.address() as AddressInfo).port
  }
  const kill = async (): Promise<void> => {
    if (!listener.listening) return
    listener.close()
    for (const socket of sockets.values()) socket.destroy()
    await once(listener, 'close')
  }

  await start()
  return {
    url: `esdb://${host}:${port}?tls=${options.tls !== undefined}`,
    port,
    calls,
    forgetCalls: () => void calls.splice(0),
    misbehave: add,
    preload: (stream, events) => void log.write(stream, events),
    kill,
    start,
    restart: async () => {
      await kill()
      await start()
    },
    close: async () => {
      await kill()
      grpc.forceShutdown()
    },
  }
}
