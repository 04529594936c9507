import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atEnd } from '../at-end.ts'

/** A TCP proxy before a server, which does something to the bytes that pass. */
export interface Proxy {
  readonly port: number
  /** What passes from clients to the server: the chunk to pass on, or undefined to end both connections. */
  toServer: (chunk: Buffer) => Buffer | undefined
  /** What passes from the server to clients. */
  toClient: (chunk: Buffer) => Buffer | undefined
}

const unchanged = (chunk: Buffer): Buffer => chunk

/** Starts a proxy before a server on loopback, which ends with the test. */
export const proxyTo = async (port: number): Promise<Proxy> => {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    const cut = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', cut)
      socket.on('close', cut)
    }
    client.on('data', (chunk) => {
      const passed = proxy.toServer(chunk)
      if (passed === undefined) cut()
      else upstream.write(passed)
    })
    upstream.on('data', (chunk) => {
      const passed = proxy.toClient(chunk)
      if (passed === undefined) cut()
      else client.write(passed)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: Proxy = {
    port: (server.address() as AddressInfo).port,
    toServer: unchanged,
    toClient: unchanged,
  }
  atEnd(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return proxy
}

/** Ends the connections once this many bytes have passed; later connections are whole. */
export const cutAfter = (bytes: number): ((chunk: Buffer) => Buffer | undefined) => {
  let left = bytes
  let isCut = false
  return (chunk) => {
    if (isCut) return chunk
    left -= chunk.length
    isCut = left < 0
    return isCut ? undefined : chunk
  }
}
