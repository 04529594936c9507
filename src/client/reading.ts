import type { ConversationEvent, Entry, EventsOptions, FullOptions, Item, ModelCall } from '../index.ts'
import { resumed } from './streams.ts'
import type { Transport } from './transport.ts'
import type { ConversationClient, FollowOptions } from './types.ts'

/** The largest page. */
const most = 1_000

/** What reads a conversation page by page, however many there are. */
export const reading = (
  server: Transport,
  id: string,
): Pick<ConversationClient, 'position' | 'effective' | 'full' | 'events' | 'follow' | 'calls' | 'sent'> => {
  const { get } = server
  const of = { id }

  const position = async (): Promise<number> => {
    const now: { readonly position: number } = await get('/conversations/{id}', of)
    return now.position
  }

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

  /** The newest entries first, page by page. */
  const full = async ({ last, before: until, at, abandoned }: FullOptions = {}) => {
    const entries: Entry[] = []
    for (let end = until, from = at; ;) {
      // What is no number of entries, the server refuses.
      const left = last === undefined ? most : last - entries.length
      type Page = { readonly at: number; readonly next?: number; readonly items: readonly Entry[] }
      const query = {
        at: from,
        last: Number.isInteger(left) ? Math.min(most, left) : left,
        before: end,
        abandoned,
      }
      const page: Page = await get('/conversations/{id}/full', of, query)
      entries.unshift(...page.items)
      from = page.at
      end = page.next
      if (end === undefined || entries.length === last) return entries
    }
  }

  async function* events({ from = 0, to = Infinity, follow: isLive, signal }: EventsOptions = {}) {
    type Page = {
      readonly last: number
      readonly next?: number
      readonly items: readonly ConversationEvent[]
    }
    let told = from - 1
    for (let next: number | undefined = from; next !== undefined && next <= to && !signal?.aborted;) {
      const limit = Math.min(most, to - next + 1)
      const page: Page = await get('/conversations/{id}/events', of, { from: next, limit }, signal)
      for (const event of page.items) {
        if (signal?.aborted) return
        told = event.position
        yield event
      }
      told = Math.max(told, from - 1)
      next = page.next
    }
    if (!isLive || told >= to) return
    for await (const event of followed(Math.min(told, await position()), signal)) {
      if (event.position >= from) yield event
      if (event.position >= to) return
    }
  }

  async function* followed(after: number, signal?: AbortSignal): AsyncGenerator<ConversationEvent, void> {
    const path = server.place('/conversations/{id}/events', of, { after })
    for await (const { event, data } of resumed(server, { method: 'GET', path, signal }))
      if (event !== 'caught-up') yield data as ConversationEvent
  }
  async function* follow({ after, signal }: FollowOptions = {}): AsyncGenerator<ConversationEvent, void> {
    yield* followed(after ?? (await position()), signal)
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
  const sent: ConversationClient['sent'] = async (number) => {
    let call = number
    if (call === undefined) for await (const each of calls()) call = each.number
    return get('/conversations/{id}/calls/{call}', { id, call: call ?? 1 })
  }

  return { position, effective, full, events, follow, calls, sent }
}
