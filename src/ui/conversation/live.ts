import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConversationEvent } from '../../core.ts'
import type { ConnectionState, ApiSource } from '../source/source.ts'
import { apiOf } from '../url.ts'

/** State of the live connection, and the last event received. */
export interface Live {
  readonly connection: ConnectionState
  /** Last event, with clipped texts; `coming` until it is received, and undefined without a live connection. */
  readonly newest: ConversationEvent | 'coming' | undefined
}

/**
 * Subscribes to the events of a conversation, beginning with the last event.
 *
 * @param last position of the last event; undefined until it is known
 * @param onErased called when content of the conversation is erased
 */
export const useLive = (
  source: ApiSource,
  id: string,
  last: number | undefined,
  grown: (position: number) => void,
  onErased: () => void,
): Live => {
  const [connection, setConnection] = useState<ConnectionState>({ state: 'connecting' })
  const [newest, setNewest] = useState<ConversationEvent>()
  const tell = useRef(grown)
  tell.current = grown
  const tellErased = useRef(onErased)
  tellErased.current = onErased
  const isKnown = last !== undefined
  useEffect(() => {
    if (!isKnown || !source.isLive) return undefined
    return source.follow(apiOf(id, '/events', { clip: 200 }), Math.max(-1, last - 1), {
      connection: setConnection,
      told: ({ data }) => {
        const event = data as Partial<ConversationEvent>
        if (event.position === undefined) return
        if (event.type !== undefined) setNewest(event as ConversationEvent)
        tell.current(event.position)
        if (event.type === 'Erased' && event.position > last) tellErased.current()
      },
    })
  }, [source, id, isKnown])
  const isOpen = connection.state === 'live' || connection.state === 'connecting'
  return { connection, newest: newest ?? (source.isLive && isOpen ? 'coming' : undefined) }
}
