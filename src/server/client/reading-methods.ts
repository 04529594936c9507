import type { ConversationEvent, Entry, FullOptions, Item, Link, ModelCall } from '../../index.ts'
import { apiPathOf } from './api-path.ts'
import type { QueryOf } from './api.ts'
import { isError } from './errors.ts'
import { resumeStream } from './streams.ts'
import type { Transport } from './transport.ts'
import type { ConversationClient, EventsQuery, StreamOptions } from './types.ts'

/** Maximum number of entries that are requested at once. */
const most = 1_000

interface EventsPage {
  readonly last: number
  readonly next?: number
  readonly items: readonly ConversationEvent[]
}

/** Makes the methods that read a conversation of any length, page by page. */
export const createReadingMethods = (
  server: Transport,
  id: string,
): Pick<
  ConversationClient,
  'exists' | 'position' | 'effective' | 'full' | 'events' | 'follow' | 'calls' | 'sent' | 'links'
> => {
  const { get } = server
  const of = { id }

  const position = async (): Promise<number> => {
    const query: QueryOf<'/conversations/{id}/events'> = { direction: 'backward', limit: 1, fields: ['type'] }
    const { last }: EventsPage = await get('/conversations/{id}/events', of, query)
    return last
  }

  const exists = (): Promise<boolean> =>
    position().then(
      () => true,
      (error: unknown) => {
        if (isError(error, 'ConversationNotFound') && error.conversation === id) return false
        throw error
      },
    )

  const effective: ConversationClient['effective'] = async ({ at } = {}) => {
    const items: Item[] = []
    for (let offset: number | undefined = 0, from = at; offset !== undefined;) {
      type Page = { readonly at: number; readonly next?: number; readonly items: readonly Item[] }
      const page: Page = await get('/conversations/{id}/effective', of, { at: from, offset, limit: most })
      items.push(...page.items)
      from = page.at
      offset = page.next
    }
    return items
  }

  /** Reads the full history page by page, starting with the newest entries. */
  const full = async ({ last, before, at, abandoned }: FullOptions = {}) => {
    const entries: Entry[] = []
    for (let end = before, from = at; ;) {
      // If `last` is not an integer, the server rejects it.
      const left = last === undefined ? most : last - entries.length
      const limit = Number.isInteger(left) ? Math.min(most, left) : left
      type Page = { readonly at: number; readonly next?: number; readonly items: readonly Entry[] }
      const query = { at: from, last: limit, before: end, abandoned }
      const page: Page = await get('/conversations/{id}/full', of, query)
      entries.unshift(...page.items)
      from = page.at
      end = page.next
      if (end === undefined || entries.length === last) return entries
    }
  }

  async function* events({ follow: isLive = false, ...query }: EventsQuery = {}) {
    const { from, to, direction, fields, signal } = query
    const isBackward = direction === 'backward'
    const end = to ?? (isBackward ? 0 : Infinity)
    const isIn = (place: number): boolean => (isBackward ? place >= end : place <= end)
    let told = (from ?? 0) - 1
    let next = from ?? (isBackward ? undefined : 0)
    while ((next === undefined || isIn(next)) && !signal?.aborted) {
      const left = next === undefined ? most : Math.abs(end - next) + 1
      const asked = { from: next, limit: Math.min(most, left), direction, fields: fields && [...fields] }
      const page: EventsPage = await get('/conversations/{id}/events', of, asked, signal)
      for (const event of page.items) {
        if (signal?.aborted || !isIn(event.position)) return
        told = event.position
        yield event
      }
      next = page.next
      if (next === undefined) break
    }
    if (!isLive || isBackward || told >= end) return
    for await (const event of followed(Math.min(told, await position()), { signal, fields })) {
      if (event.position >= (from ?? 0)) yield event
      if (event.position >= end) return
    }
  }

  async function* followed(
    after: number,
    { signal, fields }: Pick<EventsQuery, 'signal' | 'fields'>,
  ): AsyncGenerator<ConversationEvent, void> {
    const path = apiPathOf('/conversations/{id}/events', of, { after, fields })
    for await (const { event, data } of resumeStream(server, { method: 'GET', path, signal }))
      if (event !== 'caught-up') yield data as ConversationEvent
  }
  async function* follow({ after, signal }: StreamOptions = {}): AsyncGenerator<ConversationEvent, void> {
    yield* followed(after ?? (await position()), { signal })
  }

  async function* calls(): AsyncGenerator<ModelCall, void> {
    for (let from: number | undefined = 0; from !== undefined;) {
      type Page = { readonly next?: number; readonly items: readonly Partial<ModelCall>[] }
      const page: Page = await get('/conversations/{id}/calls', of, { from, limit: most })
      for (const { receipt, origin, ...call } of page.items)
        if (receipt && origin && call.number !== undefined)
          yield { ...call, receipt, origin: { ...origin, context: receipt } } as ModelCall
      from = page.next
    }
  }
  const sent: ConversationClient['sent'] = async (asked) => {
    let call = typeof asked === 'object' ? asked.number : asked
    if (call === undefined) for await (const each of calls()) call = each.number
    return get('/conversations/{id}/calls/{call}', { id, call: call ?? 1 })
  }

  const links: ConversationClient['links'] = async () => {
    const found: Link[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      type Page = { readonly next?: number; readonly items: readonly Link[] }
      const page: Page = await get('/conversations/{id}/links', of, { offset, limit: most })
      found.push(...page.items)
      offset = page.next
    }
    return found
  }

  return { exists, position, effective, full, events, follow, calls, sent, links }
}
