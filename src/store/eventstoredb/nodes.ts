import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp, isIP } from 'node:net'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import { unreachedError } from './failures.ts'
import { type Address, addressesIn } from './probe.ts'
import type { Secure } from './secure.ts'
import type { ConnectionSettings } from './settings.ts'
import { untilAborted, within } from './within.ts'

// The operating system accepts connections even for a frozen process. Neither a connection begun by the gRPC library nor a request of
// the client's search for the leader can be ended, and both keep the process alive. So gRPC is only given a node that has just answered
// over a socket opened here, which is destroyed when its time is up.

/** Settings for a request to a node. */
interface Asking {
  readonly secure: Secure
  /** Signal that ends the whole search. */
  readonly signal: AbortSignal
}

type Use<A> = (session: ClientHttp2Session) => Promise<A>

/**
 * Finds the node to call and checks that it answers. The node is the only server or, in a cluster, the leader, for which all nodes are
 * queried in parallel.
 *
 * @param named the leader, if a node has named one
 */
export const nodeToCall = async (
  { connectionString, attempt, nodePatience }: ConnectionSettings,
  named: string | undefined,
  asking: Asking,
): Promise<string> => {
  const patience = nodePatience ?? attempt
  const use = <A>(node: string, signal: AbortSignal, action: Use<A>): Promise<A> =>
    within(patience, signal, (limited) => withSession(node, { ...asking, signal: limited }, action))
  const nodes = addressesIn(connectionString).map(nameOf)
  const leaderOf = async (node: string, signal: AbortSignal): Promise<string> => {
    const leader = await use(node, signal, leaderKnownTo)
    if (leader !== node) await use(leader, signal, answers)
    return leader
  }
  if (nodePatience !== undefined && named === undefined) return firstOf(nodes, asking.signal, leaderOf)
  const node = named ?? nodes.join()
  await use(node, asking.signal, answers)
  return node
}

const nameOf = ({ host, port }: Pick<Address, 'host' | 'port'>): string =>
  `${isIP(host) === 6 ? `[${host}]` : host}:${port}`

/** Does nothing: the open session already proves that the node answers. */
const answers = (): Promise<void> => Promise.resolve()

/** Runs several attempts in parallel, returns the result of the first to succeed, and ends the others. */
const firstOf = async <T, A>(
  all: readonly T[],
  signal: AbortSignal,
  attempt: (one: T, signal: AbortSignal) => Promise<A>,
): Promise<A> => {
  const over = new AbortController()
  const limited = AbortSignal.any([signal, over.signal])
  try {
    return await Promise.any(all.map((one) => attempt(one, limited)))
  } catch (failure) {
    throw failure instanceof AggregateError ? unreachedError(failure.errors) : failure
  } finally {
    over.abort()
  }
}

/** Connects to a node, at the address that answers first, and passes the session to `use`. */
const withSession = async <A>(node: string, { secure, signal }: Asking, use: Use<A>): Promise<A> => {
  const colon = node.lastIndexOf(':')
  const host = node.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  const addresses = await untilAborted(signal, lookup(host, { all: true }))
  return firstOf(addresses, signal, ({ address }, limited) =>
    connected({ node, address, port: Number(node.slice(colon + 1)) }, { secure, signal: limited }, use),
  )
}

const connected = async <A>(
  { node, address, port }: { readonly node: string; readonly address: string; readonly port: number },
  { secure, signal }: Asking,
  use: Use<A>,
): Promise<A> => {
  const socket = connectTcp({ host: address, port })
  let session: ClientHttp2Session | undefined
  // The connection may fail when nothing waits for it any more.
  socket.on('error', () => undefined)
  try {
    await once(socket, 'connect', { signal })
    const secured = await untilAborted(signal, secure(node, socket))
    session = connectHttp2(`${secured === socket ? 'http' : 'https'}://${node}`, {
      createConnection: () => secured,
    })
    session.on('error', () => undefined)
    const closed = once(session, 'close', { signal }).then(() =>
      Promise.reject(new Error('the connection was closed')),
    )
    await Promise.race([once(session, 'remoteSettings', { signal }), closed])
    return await Promise.race([use(session), closed])
  } finally {
    session?.destroy()
    socket.destroy()
  }
}

/** Asks a node for the leader of its cluster and returns the leader's name and port. Throws if the node names no leader. */
const leaderKnownTo = async (session: ClientHttp2Session): Promise<string> => {
  const call = session.request({
    ':method': 'POST',
    ':path': '/event_store.client.gossip.Gossip/Read',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  // A message consists of a compression flag (none), its length in four bytes, and its bytes (here none).
  call.end(Buffer.alloc(headerLength))
  const answer = Buffer.concat(await call.toArray())
  const members =
    answer.length < headerLength
      ? []
      : gossip.ClusterInfo.deserializeBinary(answer.subarray(headerLength)).getMembersList()
  const leader = members.find(
    (member) => member.getIsAlive() && member.getState() === gossip.MemberInfo.VNodeState.LEADER,
  )
  const address = leader?.getHttpEndPoint()
  if (!address) throw new Error('the node names no leader')
  return nameOf({ host: address.getAddress(), port: address.getPort() })
}

const headerLength = 5
