import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atEnd } from '../at-end.ts'

// A stand-in for PgBouncer in transaction mode, after its documentation (https://www.pgbouncer.org/features.html) and the protocol
// (https://www.postgresql.org/docs/current/protocol-message-formats.html). Clients share a few sessions of the server: one is lent with the
// first message of a transaction, and returned when the server is idle and has answered everything. Nothing is reset in between, as in
// PgBouncer: settings, locks and named statements of a session stay, for whichever client gets it next. Named statements are those of
// versions before 1.21.

/** A pooler on loopback. */
export interface TransactionPooler {
  readonly port: number
  /** The number of times that a session was lent. */
  readonly lent: () => number
}

interface Frame {
  readonly type: string
  readonly body: Buffer
  readonly bytes: Buffer
}

/** Cuts a stream of bytes into messages. The first message of a client has no type. */
const framing = (received: (frame: Frame) => void, hasType: () => boolean) => {
  let rest = Buffer.alloc(0)
  return (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const start = hasType() ? 1 : 0
      if (rest.length < start + 4) return
      const end = start + rest.readUInt32BE(start)
      if (rest.length < end) return
      const bytes = rest.subarray(0, end)
      rest = rest.subarray(end)
      const type = start === 1 ? String.fromCharCode(bytes[0] ?? 0) : ''
      received({ type, body: bytes.subarray(start + 4), bytes })
    }
  }
}

const message = (type: string, ...parts: readonly (Buffer | string)[]): Buffer => {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)),
  )
  const head = Buffer.alloc(4)
  head.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), head, body])
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const refusal = (code: string, text: string): Buffer =>
  message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`))

const protocolVersion = 196_608
const encryptionRequests = new Set([80_877_103, 80_877_104])

/** Parameters that a client may name at its start; others are refused. */
const allowed = new Set(['user', 'database', 'client_encoding', 'application_name', 'replication'])

/** A session of the server. */
interface ServerSession {
  readonly socket: Socket
  readonly parameters: readonly Buffer[]
  client: PoolClient | undefined
}

interface PoolClient {
  readonly socket: Socket
  session: ServerSession | undefined
  /** Messages that wait for a session. */
  readonly waiting: Frame[]
  /** Calls that the server has not finished. */
  open: number
}

/** Starts a pooler with so many sessions before a server on loopback that trusts its users; it ends with the test. */
export const poolerTo = async (port: number, sessions: number): Promise<TransactionPooler> => {
  const free: ServerSession[] = []
  const queue: PoolClient[] = []
  const sockets = new Set<Socket>()
  let size = 0
  let lent = 0

  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }

  const openSession = (startup: Frame): Promise<ServerSession> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      track(socket)
      const parameters: Buffer[] = []
      const session: ServerSession = { socket, parameters, client: undefined }
      let isReady = false
      const received = ({ type, body, bytes }: Frame): void => {
        if (!isReady) {
          if (type === 'S') parameters.push(Buffer.from(bytes))
          if (type === 'E') reject(new Error(body.toString()))
          if (type !== 'Z') return
          isReady = true
          resolve(session)
        } else if (type !== 'A') {
          // Notifications reach nobody.
          const { client } = session
          client?.socket.write(bytes)
          if (type !== 'Z' || !client) return
          client.open--
          if (client.open === 0 && body.toString() === 'I') giveBack(client, session)
        }
      }
      socket.on(
        'data',
        framing(received, () => true),
      )
      socket.on('connect', () => socket.write(startup.bytes))
      socket.on('close', () => {
        size--
        session.client?.socket.destroy()
        const index = free.indexOf(session)
        if (index >= 0) free.splice(index, 1)
        reject(new Error('the server has ended the connection'))
      })
    })

  const giveBack = (client: PoolClient, session: ServerSession): void => {
    client.session = undefined
    session.client = undefined
    const next = queue.shift()
    if (next) lend(next, session)
    // The one that was returned last is lent last, so that a client seldom gets the same twice.
    else free.push(session)
  }

  const lend = (client: PoolClient, session: ServerSession): void => {
    lent++
    client.session = session
    session.client = client
    for (const frame of client.waiting.splice(0)) pass(client, session, frame)
  }

  const pass = (client: PoolClient, { socket }: ServerSession, { type, bytes }: Frame): void => {
    if (type === 'Q' || type === 'S' || type === 'F') client.open++
    socket.write(bytes)
  }

  const server = createServer((socket) => {
    track(socket)
    const client: PoolClient = { socket, session: undefined, waiting: [], open: 0 }
    let startup: Frame | undefined

    const begin = async (frame: Frame): Promise<void> => {
      if (encryptionRequests.has(frame.body.readUInt32BE(0))) return void socket.write('N')
      if (frame.body.readUInt32BE(0) !== protocolVersion) return void socket.destroy()
      startup = { ...frame, bytes: Buffer.from(frame.bytes) }
      const names = frame.body
        .subarray(4)
        .toString()
        .split('\0')
        .filter((_, index) => index % 2 === 0)
      const unknown = names.find((name) => name !== '' && !allowed.has(name))
      if (unknown !== undefined)
        return void socket.end(refusal('08P01', `unsupported startup parameter: ${unknown}`))
      try {
        while (size < sessions) {
          size++
          free.push(await openSession(startup))
        }
      } catch (error) {
        return void socket.end(refusal('08P01', String(error)))
      }
      // The process id is the pooler's own.
      const id = -Math.floor(Math.random() * 2 ** 30) - 1
      const known = free[0]?.parameters ?? lastParameters
      lastParameters = known
      socket.write(
        Buffer.concat([
          message('R', int32(0)),
          ...known,
          message('K', int32(id), int32(0)),
          message('Z', Buffer.from('I')),
        ]),
      )
    }

    const received = (frame: Frame): void => {
      if (!startup) return void begin(frame)
      if (frame.type === 'X') return void socket.end()
      if (client.session) return pass(client, client.session, frame)
      client.waiting.push({ ...frame, bytes: Buffer.from(frame.bytes) })
      if (client.waiting.length > 1) return undefined
      const session = free.shift()
      if (session) lend(client, session)
      else queue.push(client)
    }
    socket.on(
      'data',
      framing(received, () => startup !== undefined),
    )
    socket.on('close', () => {
      const index = queue.indexOf(client)
      if (index >= 0) queue.splice(index, 1)
      // A client that leaves within a transaction takes the session with it.
      client.session?.socket.destroy()
    })
  })
  let lastParameters: readonly Buffer[] = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, lent: () => lent }
}
