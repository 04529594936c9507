import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../src/index.ts'
import { attached } from '../../test/support/server/event-reader.ts'
import { messageAt } from '../messages.ts'
import { duration, type PartResult } from '../report.ts'
import { serving } from '../serving.ts'

/** How soon the reader of an event stream has an event that another process appends. */
export const httpSeen = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const url = `sqlite:${join(folder, 'seen.db')}`
  const store = await openStore(url)
  const chat = store.conversation('bench')
  await chat.append(messageAt(0))
  const server = await serving(url)
  let seen = -1
  let heard = (): void => {}
  const stream = await attached(`${server.api}/conversations/bench/events?after=0`, {}, ({ id }) => {
    if (id === undefined) return
    seen = Number(id)
    heard()
  })
  const times: number[] = []
  const samples = isQuick ? 50 : 300
  for (let sample = 0; sample < samples; sample++) {
    // Not in step with a clock of the server.
    await sleep(20 + Math.random() * 60)
    const began = performance.now()
    const told = new Promise<void>((resolve) => {
      heard = resolve
    })
    const { position } = await chat.append(messageAt(sample + 1))
    if (seen < position) await told
    times.push(performance.now() - began)
  }
  stream.cut()
  await server.close()
  await store.close()
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): string => duration(sorted[Math.floor(sorted.length * share)] ?? Number.NaN)
  return {
    title: 'Event streams: from the call that appends an event in another process until a reader has it',
    figures: [
      { what: 'SQLite, p50', figure: at(0.5) },
      { what: 'SQLite, p95', figure: at(0.95) },
    ],
    notes: [
      `${samples} times. The append is included. What is drawn on the page comes after it: 250 ms p95 are allowed until then.`,
    ],
  }
}
