import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { StringDecoder } from 'node:string_decoder'

/** A message of an event stream, as the standard has it. */
export interface Message {
  readonly id: string | undefined
  readonly event: string | undefined
  /** Its JSON. */
  readonly data: string | undefined
}

/** Takes a stream in pieces, however it was parted: the messages that each piece completes. */
const completing = () => {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return (piece: Buffer): readonly Message[] => {
    const blocks = (rest + decoder.write(piece)).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.map(messageIn).filter(({ id, data }) => id !== undefined || data !== undefined)
  }
}
const messageIn = (block: string): Message => {
  const field = (name: string): string | undefined =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  return { id: field('id'), event: field('event'), data: field('data') }
}

/** A reader of an event stream that takes at most so many bytes; without a limit, until it is cut off. */
export const attached = async (
  url: string,
  headers: Readonly<Record<string, string>>,
  onMessage: (message: Message) => void,
  most = Infinity,
) => {
  const request = get(url, { agent: false, headers: { accept: 'text/event-stream', ...headers } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const complete = completing()
  let left = most
  response.on('data', (piece: Buffer) => {
    for (const message of left > 0 ? complete(piece.subarray(0, left)) : []) onMessage(message)
    left -= piece.length
    if (left <= 0) request.destroy()
  })
  response.on('error', () => {})
  request.on('error', () => {})
  const ended = new Promise<void>((resolve) => response.once('close', resolve))
  return {
    ended,
    cut: () => request.destroy(),
    pause: () => response.pause(),
    resume: () => response.resume(),
  }
}
