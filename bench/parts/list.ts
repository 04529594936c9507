import { join } from 'node:path'
import { openEvents } from '../../src/api/open.ts'
import { openStore } from '../../src/index.ts'
import { orThrow } from '../../src/result/fallible.ts'
import { app } from '../../src/server/app.ts'
import { fillConversations, medianOf } from '../many-conversations.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'

/** The list of a large store over HTTP. */
export const list = (folder: string, isQuick: boolean): Promise<PartResult> =>
  listAt(`sqlite:${join(folder, 'list.db')}?synchronous=off`, 'SQLite', isQuick, 50)

/** The same on any store, which is filled first. The bar of the first page is in milliseconds. */
export const listAt = async (
  url: string,
  where: string,
  isQuick: boolean,
  bar: number,
): Promise<PartResult> => {
  const conversations = isQuick ? 5_000 : 100_000
  const events = await orThrow(openEvents(url))
  await fillConversations(events, { conversations, messages: 4, length: 100 })
  await events.close()()
  const store = await openStore(url)
  const { fetch } = app({ store })
  const ask = async (query: string): Promise<void> => {
    const headers = { host: 'localhost' }
    const answer = await fetch(
      new Request(`http://localhost/api/v1/conversations?limit=50${query}`, { headers }),
    )
    const { items } = (await answer.json()) as { readonly items?: readonly unknown[] }
    if (!items?.length) throw new Error(`the list is empty: ${answer.status}`)
  }
  const began = performance.now()
  while (!(await store.catalogue.find()).isComplete);
  const indexed = performance.now() - began
  const first = await medianOf(9, () => ask(''))
  const filtered = await medianOf(9, () => ask('&order=tokens&actor=bench'))
  const found = await medianOf(9, () => ask('&q=conversation%20417'))
  await store.close()
  return {
    title: `List of ${count(conversations)} conversations`,
    figures: [
      atMost('first page of 50, warm', first, bar, duration),
      { what: 'by tokens, of those that an actor wrote in', figure: duration(filtered) },
      { what: 'those in which something rare was said', figure: duration(found) },
      { what: 'until all are indexed for the first time', figure: duration(indexed) },
    ],
    notes: [`${where}, four messages each; through the router, without a socket. Medians of nine.`],
  }
}
