import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { buildConversation, shown } from '../build.ts'
import { httpClient } from '../http-client.ts'
import { atMost, duration, type PartResult } from '../report.ts'
import { median, timed } from '../rounds.ts'
import { serving } from '../serving.ts'

/** The effective history over HTTP, beside the library's call. */
export const httpRead = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const url = `sqlite:${join(folder, 'read.db')}`
  await buildConversation(join(folder, 'read.db'), 1_000)
  const server = await serving(url)
  const store = await openStore(url)
  const chat = store.conversation('bench')
  const client = await httpClient(server.api)
  const path = '/api/v1/conversations/bench/effective'
  const times = { library: [] as number[], http: [] as number[] }
  const [warmUp, samples] = [100, isQuick ? 200 : 1_000]
  for (let sample = -warmUp; sample < samples; sample++) {
    const library = await timed(() => chat.effective())
    const http = await timed(async () => {
      const { items } = JSON.parse(await client.get(path)) as { readonly items: readonly unknown[] }
      if (items.length !== shown) throw new Error(`it answered ${items.length} items`)
    })
    if (sample < 0) continue
    times.library.push(library)
    times.http.push(http)
  }
  client.close()
  await store.close()
  await server.close()
  const [library, http] = [median(times.library), median(times.http)]
  return {
    title: `Read over HTTP: an effective history of ${shown} items`,
    figures: [
      { what: "the library's call", figure: duration(library) },
      { what: 'GET effective, over a kept connection', figure: duration(http) },
      atMost('more than the library, p50', http - library, 1, duration),
    ],
    notes: [
      `${samples} times each, in turns. The server is another process; its answer is parsed. 1,000 events, SQLite, everything warm.`,
    ],
  }
}
