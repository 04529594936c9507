import type { PlacedEvent } from '../../conversation/reading/stored.ts'

/**
 * An event as a line of Palimpsest's own JSONL, without the newline. Lossless: `data` and `metadata` are written as stored, to the byte,
 * so an import gives the same events, ids and hash chain.
 */
export const palimpsestLine = ({ conversation, revision, id, type, data, metadata }: PlacedEvent): string =>
  `{"conversation":${JSON.stringify(conversation)},"revision":${revision},"id":${JSON.stringify(id)},` +
  `"type":${JSON.stringify(type)},"data":${data},"metadata":${metadata}}`

/** The lines of many events, each with its newline, one at a time, so that a conversation of any length takes little memory. */
export async function* palimpsestLines(
  events: AsyncIterable<PlacedEvent> | Iterable<PlacedEvent>,
): AsyncGenerator<string> {
  for await (const event of events) yield `${palimpsestLine(event)}\n`
}
