import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Closes connections on which nothing has moved for so long, also those that were used before: a sender that sends nothing more, a reader
 * that takes nothing of what is there for him. Whoever waits for this server is not cut off.
 *
 * @param stall in milliseconds
 * @returns closes the connections on which nothing is answered
 */
export const watchConnections = (server: Server, stall: number): (() => void) => {
  /** Those that have asked for nothing yet: browsers and pools open some ahead, and Node does not count them among the idle ones. */
  const unused = new Set<Socket>()
  server.on('connection', (socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  // Node closes those on which nothing is answered.
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
