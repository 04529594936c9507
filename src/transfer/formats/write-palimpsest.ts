import type { PlacedEvent } from '../../conversation/reading/stored-events.ts'
import type { FormatExporter } from './exporter.ts'
import type { ReadableConversation } from './readable-conversation.ts'

/**
 * Returns an event as a line of Palimpsest's own JSONL, without the newline. The format is lossless: `data` and `metadata` are written
 * byte for byte, so an import gives the same events, ids and hash chain.
 */
export const palimpsestLine = ({ conversation, revision, id, type, data, metadata }: PlacedEvent): string =>
  `{"conversation":${JSON.stringify(conversation)},"revision":${revision},"id":${JSON.stringify(id)},` +
  `"type":${JSON.stringify(type)},"data":${data},"metadata":${metadata}}`

/**
 * Yields the lines of events, each with its newline. Only one event is held at a time, so a conversation of any length takes little
 * memory.
 */
export async function* palimpsestLines(
  events: AsyncIterable<PlacedEvent> | Iterable<PlacedEvent>,
): AsyncGenerator<string, void> {
  for await (const event of events) yield `${palimpsestLine(event)}\n`
}

/**
 * Yields the stored events and notes of a conversation and its parents, without the conversation's own events and notes after position
 * `at`.
 */
async function* eventsThrough(chat: ReadableConversation, at: number): AsyncGenerator<PlacedEvent, void> {
  let start = 0
  for await (const event of chat.stored()) {
    if (event.conversation === chat.id) {
      if (event.revision === 0 && event.type === 'Forked') start = forkedAt(event) + 1
      if (positionOf(event, start) > at) continue
    }
    yield event
  }
}

interface Placing {
  readonly at?: number
  readonly from?: { readonly position: number }
}
const forkedAt = ({ data }: PlacedEvent): number => (JSON.parse(data) as Placing).from?.position ?? -1

/** Returns the position of an event; for a note, the position at which it was recorded. */
const positionOf = ({ type, data, revision }: PlacedEvent, start: number): number =>
  type === 'Noted' || type === 'Linked' ? ((JSON.parse(data) as Placing).at ?? -1) : start + revision

/** An exporter that writes every event as it is stored. If no position is given, this includes events that cannot be decoded. */
export const palimpsestExporter: FormatExporter = {
  extension: 'jsonl',
  kind: 'lines',
  isOfLog: false,
  pieces: (chat, { at }) => palimpsestLines(at === undefined ? chat.stored() : eventsThrough(chat, at)),
}
