import { once } from 'node:events'
import { connect } from 'node:net'

/** A connection to a server that is kept, and asked for one thing after the other. */
export interface HttpClient {
  /** The body of the answer. Rejects if its status is not 2xx. */
  readonly get: (path: string) => Promise<string>
  readonly post: (path: string, body: string) => Promise<string>
  readonly close: () => void
}

const headEnd = Buffer.from('\r\n\r\n')

/** A client as light as HTTP/1.1 allows, so that what is measured is the server. */
export const httpClient = async (url: string): Promise<HttpClient> => {
  const { host, hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  let received: Buffer | undefined
  let waiting:
    | { readonly resolve: (body: string) => void; readonly reject: (error: Error) => void }
    | undefined
  socket.on('data', (piece: Buffer) => {
    received = received ? Buffer.concat([received, piece]) : piece
    const end = received.indexOf(headEnd)
    if (end < 0) return
    const head = received.toString('latin1', 0, end)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1])
    if (Number.isNaN(length)) return waiting?.reject(new Error(`it does not say how long it is: ${head}`))
    const last = end + headEnd.length + length
    if (received.length < last) return
    const body = received.toString('utf8', end + headEnd.length, last)
    received = undefined
    if (head.startsWith('HTTP/1.1 2')) waiting?.resolve(body)
    else waiting?.reject(new Error(`${head.split('\r\n')[0]}: ${body}`))
  })
  socket.on('error', (error) => waiting?.reject(error))
  const asked = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject }
      socket.write(text)
    })
  const postHead = `HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: `
  return {
    get: (path) => asked(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`),
    post: (path, body) => asked(`POST ${path} ${postHead}${Buffer.byteLength(body)}\r\n\r\n${body}`),
    close: () => socket.destroy(),
  }
}
