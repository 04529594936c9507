/** A message of an event stream (HTML living standard, section 9.2). */
export interface ParsedSseMessage {
  readonly id: string | undefined
  readonly event: string
  /** The parsed JSON data; undefined if the message only has an id. */
  readonly data: unknown
}

/**
 * Makes a parser for an event stream. The parser takes the stream in arbitrary pieces and returns the messages that each piece
 * completes.
 */
export const sseReader = () => {
  let rest = ''
  return (piece: string): readonly ParsedSseMessage[] => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => messageIn(block) ?? [])
  }
}

const messageIn = (block: string): ParsedSseMessage | undefined => {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    const before = name === 'data' ? fields.get(name) : undefined
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  const [id, event = 'message', data] = [fields.get('id'), fields.get('event'), fields.get('data')]
  if (id === undefined && data === undefined) return undefined
  return { id, event, data: data === undefined ? undefined : (JSON.parse(data) as unknown) }
}

/**
 * Yields the messages of an event stream as they arrive, until the stream ends.
 *
 * @param heard called for every piece received, even if no message is complete
 */
export async function* messagesIn(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  heard?: () => void,
): AsyncGenerator<ParsedSseMessage, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const take = sseReader()
  try {
    for (let got = await reader.read(); !got.done; got = await reader.read()) {
      heard?.()
      yield* take(got.value)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
