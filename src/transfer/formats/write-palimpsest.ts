import * as E from 'fp-ts/lib/Either.js'
import type { PlacedEvent } from '../../conversation/reading/stored-events.ts'
import type { DecodeFailed } from '../../events/errors.ts'
import { notesStreamOf, streamOf } from '../../events/ids.ts'
import { toError } from '../../result/typed-error.ts'
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
 * memory. Throws `DecodeFailed` for an event whose text is not JSON, because the line would be broken.
 */
export async function* palimpsestLines(
  events: AsyncIterable<PlacedEvent> | Iterable<PlacedEvent>,
): AsyncGenerator<string, void> {
  for await (const event of events) {
    if (!isJson(event.data) || !isJson(event.metadata)) throw toError(notJson(event))
    yield `${palimpsestLine(event)}\n`
  }
}

const isJson = (text: string): boolean => E.isRight(E.tryCatch(() => JSON.parse(text) as unknown, String))

const notJson = ({ conversation, revision, type }: PlacedEvent): DecodeFailed => {
  const stream = (type === 'Noted' || type === 'Linked' ? notesStreamOf : streamOf)(conversation)
  const message = `event ${revision} of stream ${stream} (${type}) cannot be read: its text is not JSON, so an export with it could not be imported. Restore a backup, or export the conversation as it was before that event`
  return { _tag: 'DecodeFailed', message, stream, revision }
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

/**
 * An exporter that writes every event as it is stored. If no position is given, this includes events that this version
 * cannot decode, if their text is JSON.
 */
export const palimpsestExporter: FormatExporter = {
  extension: 'jsonl',
  kind: 'lines',
  isOfLog: false,
  pieces: (chat, { at }) => palimpsestLines(at === undefined ? chat.stored() : eventsThrough(chat, at)),
}
