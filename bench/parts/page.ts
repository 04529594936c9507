import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { openStore, type Store } from '../../src/index.ts'
import { browser } from '../../test/support/browser.ts'
import { builtPage } from '../../test/support/bundle.ts'
import { eventStoreDb } from '../../test/support/eventstoredb/server.ts'
import { longLog, rareWords } from '../long-log.ts'
import { firstView } from '../page/first-view.ts'
import { drawn, following, tailed } from '../page/following.ts'
import { type Looked, moved } from '../page/moving.ts'
import { atMost, count, type Figure, type PartResult } from '../report.ts'
import { serving } from '../serving.ts'

const session = new URL('../../../shared/data/claude-code/session-with-compaction.jsonl', import.meta.url)
const sample = new URL('../../examples/sessions/claude-code.jsonl', import.meta.url)

/** A real session, if it is there, else the one that the package brings. */
const imported = async (store: Store): Promise<Looked> => {
  const bytes = createReadStream(existsSync(session) ? session : sample)
  await store.importSession({ file: 'session.jsonl', bytes, id: 'session' })
  const last = await store.conversation('session').position()
  return { last, words: ['the', 'test', 'file'] }
}

/** All figures of one conversation. */
const looked = async (
  chrome: Browser,
  url: string,
  of: Looked,
  isQuick: boolean,
): Promise<readonly Figure[]> => {
  const first = await firstView(chrome, url, isQuick ? 1 : 5)
  const view = await following(chrome, url)
  const moves = await moved(view, of, isQuick ? 4 : 15)
  const memory = await view.memory()
  await view.close()
  const name = `${count(of.last + 1)} events`
  return [
    ...first,
    ...moves,
    atMost('heap and arrays after all that', memory / 1e6, 60, (mb) => `${count(mb)} MB`),
  ].map((figure) => ({ ...figure, what: `${name}: ${figure.what}` }))
}

/** The page in a real Chromium, of short and very long conversations. */
export const page = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const lengths = isQuick ? [5_000] : [100_000, 1_000_000]
  const ui = join(await builtPage(), 'ui')
  const url = `sqlite:${join(folder, 'page.db')}?synchronous=off`
  const store = await openStore(url)
  const began = performance.now()
  const logs: Record<string, Looked> = { session: await imported(store) }
  for (const length of lengths) {
    const last = await longLog(store.conversation(`long-${length}`)).growTo(length)
    logs[`long-${length}`] = { last, words: [1, 2, 3].map(rareWords) }
    // The index of what was written, which the server would else make as it is first asked.
    while ((await store.catalogue.outline(`long-${length}`, { from: last })).indexed < last);
  }
  const built = performance.now() - began
  const chrome = await browser()
  const server = await serving(url, ui)
  const figures: Figure[] = []
  for (const [id, of] of Object.entries(logs))
    figures.push(...(await looked(chrome, `${server.url}/c/${id}`, of, isQuick)))

  const times = isQuick ? 20 : 100
  let drawnAt: (position: number) => Promise<unknown> = async () => undefined
  const appended = async (position: number): Promise<void> => void (await drawnAt(position))
  const tail = longLog(store.conversation('tail'), { batch: 40, appended })
  let end = await tail.growTo(2_000)
  const grow = async (events: number, isDrawn: typeof drawnAt): Promise<number> => {
    drawnAt = isDrawn
    return (end = await tail.growTo(end + 1 + events))
  }
  figures.push(...(await tailed(chrome, `${server.url}/c/tail`, grow, isQuick ? 1_000 : 6_000)))
  const onFile = { url: `${server.url}/c/tail`, chat: store.conversation('tail'), name: 'SQLite', bar: 250 }
  figures.push(...(await drawn(chrome, { ...onFile, times })))
  await server.close()
  await store.close()
  figures.push(...(await onServer(chrome, ui, times)))
  await chrome.close()
  return {
    title: 'The page, in a Chromium at 1440 × 900',
    figures,
    notes: [
      `Of the first view, medians of ${isQuick ? 1 : 5} loads with nothing cached, the server and its index warm. Frames are those of 120 moves of the mouse; the main thread includes what the browser does for them.`,
      `Ten minutes of an agent that writes ten events a second, forty at a time, the next as soon as these are drawn.`,
      `The logs are made from a seed, by \`bench/long-log.ts\`; made and indexed in ${count(built / 1_000)} s.`,
    ],
  }
}

/** What is drawn of a store on the protocol server. */
const onServer = async (chrome: Browser, ui: string, times: number): Promise<readonly Figure[]> => {
  const database = await eventStoreDb()
  const store = await openStore(database.url)
  const chat = store.conversation('talk')
  await longLog(chat).growTo(1)
  const server = await serving(database.url, ui)
  const at = { url: `${server.url}/c/talk`, chat, name: 'protocol server', bar: 100 }
  const figures = await drawn(chrome, { ...at, times })
  await server.close()
  await store.close()
  await database.close()
  return figures
}
