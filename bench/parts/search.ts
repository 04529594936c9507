import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openEvents } from '../../src/api/open.ts'
import { openStore } from '../../src/index.ts'
import { orThrow } from '../../src/result/fallible.ts'
import { fillConversations, medianOf } from '../many-conversations.ts'
import { atMost, count, duration, type PartResult, times } from '../report.ts'

/** Searches in much content, and what the index of it costs. */
export const search = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const [conversations, messages, length] = [isQuick ? 200 : 10_000, 100, 1_000]
  const url = `sqlite:${join(folder, 'search.db')}?synchronous=off`
  const events = await orThrow(openEvents(url))
  await fillConversations(events, { conversations, messages, length })
  await events.close()()
  const content = conversations * messages * length
  const store = await openStore(url)
  const began = performance.now()
  while (!(await store.catalogue.find()).isComplete);
  const indexed = performance.now() - began
  const { search: look } = store.catalogue
  const rare = await medianOf(9, () => look(`message 77 of conversation ${conversations - 3}.`))
  const common = await medianOf(9, () => look('babaab'.slice(0, 4)))
  const none = await medianOf(9, () => look('nowhere to be found'))
  const inOne = await medianOf(9, () => look('message 5', { conversation: 'c7' }))
  await store.close()
  const size = readdirSync(folder)
    .filter((file) => file.includes('-index.'))
    .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  return {
    title: `Search in ${count(content / 1e6)} MB of content`,
    figures: [
      atMost('a phrase that is in one message', rare, 500, duration),
      atMost('20 hits of something that is everywhere', common, 500, duration),
      atMost('what is nowhere', none, 500, duration),
      { what: 'in one conversation of 100 messages', figure: duration(inOne) },
      { what: 'the index beside the content', figure: times(size / content) },
      { what: 'indexing, MB of content a second', figure: count(content / 1_000 / indexed) },
    ],
    notes: [
      `SQLite, ${count(conversations)} conversations of 100 messages of 1,000 characters. Medians of nine.`,
    ],
  }
}
