import * as E from 'fp-ts/lib/Either.js'
import type { ConversationEvent, Metadata } from '../../events/events.ts'
import { memo } from '../../projections/memo.ts'
import { createLruCache, type LruCache } from '../../store/lru.ts'
import { type Lineage, stretchAt } from './lineage.ts'
import { type EventStore, streamPage } from '../../store/port.ts'
import { decodeAll, type Reader, reader } from './reader.ts'

type Events = readonly ConversationEvent[]

/** Maximum number of pages to remember per store. They contain up to 200,000 events, without content. */
const maxPages = 1_000
const pagesOf = memo<EventStore, LruCache<Events>>(() => createLruCache(maxPages))

/**
 * Returns a reader of events without their content, for callers that only need to know which events hide which others. Events never
 * change, so pages are remembered, and a parent is not read again for each of its forks.
 */
export const lightReader = (store: EventStore, lineage: Lineage): Reader => {
  const pages = pagesOf(store)
  const plain = reader(store, lineage)
  return {
    ...plain,
    page: async (first, last, direction) => {
      const position = direction === 'forwards' ? first : last
      const stretch = stretchAt(lineage, position)
      if (!stretch) return E.right([])
      const { stream, offset } = stretch
      const from = Math.floor((position - offset) / streamPage) * streamPage
      const key = `${stream} ${from}`
      let events = pages.get(key) ?? []
      if (!events.some((event) => event.position === position)) {
        const read = await store.read({ stream, from, direction: 'forwards', limit: streamPage })()
        const decoded = E.isLeft(read) ? read : await decodeAll(read.right, stretch)
        // The damage may be outside the requested range, so only that range is read.
        if (E.isLeft(decoded)) return plain.page(first, last, direction)
        events = decoded.right.map(lightOf)
        pages.set(key, events)
      }
      const until = Math.min(last, stretch.last)
      const asked = events.filter((event) => event.position >= first && event.position <= until)
      return asked.length === 0
        ? plain.page(first, last, direction)
        : E.right(direction === 'forwards' ? asked : asked.toReversed())
    },
  }
}

const nothing: Metadata = { schema: 1, time: '', actor: { kind: '' }, commandId: '', prev: null }

const lightOf = (event: ConversationEvent): ConversationEvent => {
  const light = { id: '', position: event.position, metadata: nothing }
  if (event.type === 'MessageAppended')
    return { ...light, type: event.type, data: { role: event.data.role, content: [] } }
  if (event.type === 'Condensed') return { ...light, type: event.type, data: { ...event.data, summary: [] } }
  return { ...event, ...light }
}
