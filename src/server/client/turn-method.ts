import type { MessageInput, SearchPage } from '../../index.ts'
import { apiPathOf } from './api-path.ts'
import { resumeStream } from './streams.ts'
import { pause } from './pause.ts'
import { textOf, type Transport, withId } from './transport.ts'
import type { AskOptions, ConversationClient, FindOptions, SearchHit, TurnMessage } from './types.ts'

/** Makes the method that requests a turn. If the connection breaks, the request is repeated under the same command id. */
export const createTurnMethod = (server: Transport, id: string): ConversationClient['turn'] =>
  async function* (
    message?: MessageInput | readonly MessageInput[],
    { signal, ...options }: AskOptions = {},
  ): AsyncGenerator<TurnMessage, void> {
    const messages = message === undefined ? {} : { messages: [message].flat() }
    const body = textOf(withId({ ...options, ...messages }))
    const path = apiPathOf('/conversations/{id}/turns', { id })
    let isAsked = false
    for await (const { id: position, event, data } of resumeStream(server, {
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

/** Fields of a search response that tell whether the index is complete. */
interface Answered {
  readonly isComplete: boolean
  readonly problem?: string
}

/** Delay before the index is queried again, in milliseconds. It is short because the server has already waited before its response. */
const again = 100

/** Repeats a query until everything is indexed, indexing fails, or the signal aborts. */
export const whole = async <A extends Answered>(ask: () => Promise<A>, signal?: AbortSignal): Promise<A> => {
  for (;;) {
    const page = await ask()
    if (page.isComplete || page.problem !== undefined || signal?.aborted) return page
    await pause(again, signal)
  }
}

/** Yields all hits of a search in one conversation or in all, titles first. Waits until everything is indexed, then reads page by page. */
export async function* searchPages(
  { get }: Transport,
  id: string | undefined,
  text: string,
  { limit, signal }: FindOptions = {},
): AsyncGenerator<SearchHit, void> {
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const query = { q: text, limit, cursor }
    const ask = (): Promise<SearchPage> =>
      id === undefined
        ? get('/search', {}, query, signal)
        : get('/conversations/{id}/search', { id }, query, signal)
    const page: SearchPage = await (isFirst ? whole(ask, signal) : ask())
    yield* page.titles
    yield* page.items
    cursor = page.next
  }
}
