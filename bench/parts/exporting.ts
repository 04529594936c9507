import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { httpClient } from '../http-client.ts'
import { atMost, duration, type PartResult } from '../report.ts'
import { serving } from '../serving.ts'

const formats = ['html&calls=true', 'markdown'] as const
/** Characters of a message. */
const length = 20_000

/** How long somebody waits who only asks whether the server lives, while others export a long conversation, beside an idle server. */
export const exporting = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const url = `sqlite:${join(folder, 'export.db')}`
  const megabytes = isQuick ? 10 : 50
  const messages = (megabytes * 1_000_000) / length
  const store = await openStore(url)
  const origin = { model: 'claude-opus-5-5', usage: { input_tokens: 1 } }
  for (let n = 0; n < messages; n += 100)
    await store.conversation('bench').append(
      Array.from({ length: 100 }, (_, index) => {
        const content = `${n + index} of all. `.repeat(length / 12)
        return index % 2 === 0
          ? { role: 'user' as const, content }
          : { role: 'assistant' as const, content, origin }
      }),
    )
  await store.catalogue.overview('bench')
  await store.close()
  const server = await serving(url)
  const client = await httpClient(server.url)
  const asked = async (until: () => boolean): Promise<number> => {
    const times: number[] = []
    while (!until() || times.length < 200) {
      const began = performance.now()
      await client.get('/healthz')
      times.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? NaN
  }
  const exported = async (format: string): Promise<number> => {
    // This process waits for answers of its own, and must not be kept from them.
    const file = `${server.api}/conversations/bench/export?format=${format}`
    const reader = fork(new URL('../children/reading.ts', import.meta.url).pathname, [file], { execArgv: [] })
    const [bytes] = (await once(reader, 'message')) as [number]
    return bytes
  }
  await asked(() => true)
  const idle = await asked(() => true)
  let isDone = false
  const exports = Promise.all(formats.map(exported)).finally(() => (isDone = true))
  const during = await asked(() => isDone)
  const [page = 0] = await exports
  client.close()
  await server.close()
  return {
    title: `Two exports at once, of a conversation of ${megabytes} MB`,
    figures: [
      { what: 'GET /healthz of an idle server, p95', figure: duration(idle) },
      { what: 'meanwhile, p95', figure: duration(during) },
      atMost('p95 meanwhile, of that of an idle server', during / idle, 5, times),
      atMost('the page with all calls, beside the content', page / (megabytes * 1_000_000), 1.3, times),
    ],
    notes: [
      `${messages} messages, half of them replies. A page with the requests of all calls, and a Markdown document, both read as fast as they come.`,
    ],
  }
}

const times = (factor: number): string => `${factor.toFixed(2)} ×`
