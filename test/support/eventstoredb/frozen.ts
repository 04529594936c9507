import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atEnd } from '../at-end.ts'
import { endsWithTest, node } from '../node.ts'

const host = '127.0.0.1'

/** A node whose process is frozen: the system takes connections for it, and nobody answers. */
export const frozen = async (): Promise<string> => {
  const { address, freeze } = await freezing(0)
  freeze()
  return address
}

/** A node that is reached through this one (`host:port`), until it freezes: all connections fall silent, also those that exist. */
export const freezing = async (
  port: number,
): Promise<{ readonly address: string; readonly freeze: () => void; readonly thaw: () => void }> => {
  const sockets = new Set<Socket>()
  const pairs = new Set<readonly [Socket, Socket]>()
  let isFrozen = false
  const listener = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    if (isFrozen) return
    const other = connect({ host, port })
    sockets.add(other)
    other.on('error', () => socket.destroy())
    socket.on('close', () => other.destroy())
    other.on('close', () => socket.destroy())
    socket.pipe(other).pipe(socket)
    pairs.add([socket, other])
  })
  listener.listen(0, host)
  await once(listener, 'listening')
  atEnd(() => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  return {
    address: `${host}:${(listener.address() as AddressInfo).port}`,
    freeze: () => {
      isFrozen = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    thaw: () => {
      isFrozen = false
      for (const [socket, other] of pairs) socket.pipe(other).pipe(socket)
    },
  }
}

const listening = `
  const listener = require('node:net').createServer()
  listener.listen({ port: 0, host: '${host}', backlog: 1 }, () => console.log(listener.address().port))`

/** A node that is gone from the network: nobody even takes a connection, and nobody refuses one. Linux only. */
export const unreachable = async (): Promise<string> => {
  const child = spawn(node, ['-e', listening], { stdio: ['ignore', 'pipe', 'inherit'] })
  endsWithTest(child)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(String(line))
  // Linux drops what comes once the queue of a process that takes nothing from it is full.
  child.kill('SIGSTOP')
  const sockets = Array.from({ length: 8 }, () => connect({ host, port }))
  atEnd(() => sockets.forEach((socket) => socket.on('error', () => undefined).destroy()))
  await Promise.all(sockets.slice(0, 2).map((socket) => once(socket, 'connect')))
  return `${host}:${port}`
}
