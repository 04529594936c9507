import { randomUUID } from 'node:crypto'
import type { StoredEvent } from '../../events/codec.ts'

// The server takes events that it has for a success and does not say so. An append that somebody else may have sent as well, to the
// byte, therefore stamps its last event: whose stamp stands there has written it. Readers get the metadata without it.

const mark = '{"$append":"'
const stampLength = `${mark}${randomUUID()}"`.length

/**
 * The events of one append as they are sent. Stamped are the last one, where the append is ambiguous, and what looks as if it were: of
 * that one stamp is taken off again. Metadata that are no object stay as they are.
 */
export const stamped = (events: readonly StoredEvent[], isAmbiguous: boolean): readonly StoredEvent[] =>
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

/** Metadata as they were before they were stamped. */
export const unstamped = (metadata: string): string => {
  if (!metadata.startsWith(mark)) return metadata
  const rest = metadata.slice(stampLength)
  return `{${rest.startsWith(',') ? rest.slice(1) : rest}`
}
