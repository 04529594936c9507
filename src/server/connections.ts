import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Closes connections, including reused ones, on which no data has moved for `stall` ms because the client stopped sending its request
 * or reading the response. Clients that wait for a response are kept.
 *
 * @param stall in milliseconds
 * @returns a function that closes the connections without a pending response
 */
export const watchConnections = (server: Server, stall: number): (() => void) => {
  /**
   * Connections that have carried no request yet. Browsers and connection pools open some in advance, and Node does not count them as
   * idle.
   */
  const unused = new Set<Socket>()
  server.on('connection', (socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  // After this time, Node closes a connection unless a request on it is being handled.
  server.setTimeout(stall)
  server.on('request', (incoming, outgoing) => {
    unused.delete(incoming.socket)
    outgoing.on('timeout', () => {
      const isOurTurn = incoming.complete && outgoing.writableLength === 0
      if (isOurTurn) incoming.socket.setTimeout(stall)
      else incoming.socket.destroy()
    })
  })
  return () => {
    server.closeIdleConnections()
    for (const socket of unused) socket.destroy()
  }
}
