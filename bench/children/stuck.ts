import { once } from 'node:events'
import { connect } from 'node:net'

// Readers of an event stream that stop reading once it has begun, in a process of their own. Tells when all have stopped.

const [url = '', count = '0'] = process.argv.slice(2)
const { host, hostname, port, pathname, search } = new URL(url)
const sockets = Array.from({ length: Number(count) }, () => connect(Number(port), hostname))
await Promise.all(
  sockets.map(async (socket) => {
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`)
    await once(socket, 'data')
    socket.pause()
  }),
)
process.on('message', () => process.exit())
process.send?.('stopped')
