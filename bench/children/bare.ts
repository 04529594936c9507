import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type MessageInput, openStore } from '../../src/index.ts'
import { together } from '../../src/server/together.ts'

// A server that does nothing but pass appends on to a store: it checks nothing. What it reaches, no server on `node:http` exceeds.

interface Command {
  readonly messages: readonly MessageInput[]
  readonly after: number
}

const [name = ''] = process.argv.slice(2)
const store = await openStore(name)
const chats = new Map<string, ReturnType<typeof store.conversation>>()
const gathered = together()

const append = async (path: string, text: string): Promise<string> => {
  const id = path.split('/')[4] ?? ''
  const chat = chats.get(id) ?? store.conversation(id)
  chats.set(id, chat)
  const { messages, after } = JSON.parse(text) as Command
  await gathered()
  return JSON.stringify(await chat.append(messages, { after }))
}

const answer = async (path: string, text: string, outgoing: ServerResponse): Promise<void> => {
  const written = await append(path, text)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(written) }
  outgoing.writeHead(200, headers).end(written)
}

const server = createServer((incoming, outgoing) => {
  const pieces: Buffer[] = []
  incoming.on('data', (piece: Buffer) => pieces.push(piece))
  incoming.on('end', () => void answer(incoming.url ?? '', Buffer.concat(pieces).toString(), outgoing))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => {
  server.closeAllConnections()
  server.close(() => {
    void store.close().then(() => process.disconnect())
  })
})
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
