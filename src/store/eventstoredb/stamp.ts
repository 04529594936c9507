import { randomUUID } from 'node:crypto'
import type { StoredEvent } from '../../events/codec.ts'

// The server also reports success for events that it already has, without any indication of that. So if another writer may send the
// same append, byte for byte, the last event of the append is stamped: the writer whose stamp is stored has written the events. Readers
// get the metadata without the stamp.

const mark = '{"$append":"'
const stampLength = `${mark}${randomUUID()}"`.length

/**
 * Returns the events of one append in the form in which they are sent. The last event is stamped if the append is ambiguous. Any event
 * whose metadata already appears to be stamped is stamped as well, because readers remove one stamp. Metadata that is not an object is
 * unchanged.
 */
export const stampEvents = (events: readonly StoredEvent[], isAmbiguous: boolean): readonly StoredEvent[] =>
  events.map((event, index) =>
    (isAmbiguous && index === events.length - 1) || event.metadata.startsWith(mark)
      ? withStamp(event)
      : event,
  )

const withStamp = (event: StoredEvent): StoredEvent => {
  if (!event.metadata.startsWith('{')) return event
  const rest = event.metadata.slice(1)
  const comma = /^\s*\}/.test(rest) ? '' : ','
  return { ...event, metadata: `${mark}${randomUUID()}"${comma}${rest}` }
}

/** Returns an event's metadata without the stamp. */
export const removeStamp = (metadata: string): string => {
  if (!metadata.startsWith(mark)) return metadata
  const rest = metadata.slice(stampLength)
  return `{${rest.startsWith(',') ? rest.slice(1) : rest}`
}
