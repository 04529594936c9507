import type { Hit, MessageInput } from '../index.ts'
import { resumed } from './streams.ts'
import { type Transport, withId } from './transport.ts'
import type { AskOptions, ConversationClient, FindOptions, TurnMessage } from './types.ts'

/** Asks for a turn, and again under the same command where the connection breaks. */
export const turning = (server: Transport, id: string): ConversationClient['turn'] =>
  async function* (
    message?: MessageInput | readonly MessageInput[],
    { signal, ...options }: AskOptions = {},
  ): AsyncGenerator<TurnMessage, void> {
    const messages = message === undefined ? {} : { messages: [message].flat() }
    const body = JSON.stringify(withId({ ...options, ...messages }))
    const path = server.place('/conversations/{id}/turns', { id })
    let isAsked = false
    for await (const { id: position, event, data } of resumed(server, {
      method: 'POST',
      path,
      body,
      signal,
    })) {
      if (event === 'asked' && isAsked) continue
      isAsked = true
      if (position === undefined) yield { ...(data as object), type: event } as TurnMessage
      else yield { type: 'event', event: data } as TurnMessage
      if (event === 'outcome') return
    }
  }

/** All hits of a search, page by page, in one conversation or in all. */
export async function* searching(
  { get }: Transport,
  id: string | undefined,
  text: string,
  { limit, signal }: FindOptions = {},
): AsyncGenerator<Hit, void> {
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    type Page = { readonly next?: string; readonly items: readonly Hit[] }
    const query = { q: text, limit, cursor }
    const page: Page = await (id === undefined
      ? get('/search', {}, query, signal)
      : get('/conversations/{id}/search', { id }, query, signal))
    yield* page.items
    cursor = page.next
  }
}
