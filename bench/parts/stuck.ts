import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../src/index.ts'
import { type HttpClient, httpClient } from '../http-client.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { timed } from '../rounds.ts'
import { serving, servingMeasured } from '../serving.ts'

/** Messages of the conversation that is read, and characters of each. */
const [messages, length] = [300, 20_000]
const readers = 300

/** Measures appends beside readers of event streams who have stopped reading, and the memory that each of them takes. */
export const stuck = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const samples = isQuick ? 200 : 1_000
  const url = `sqlite:${join(folder, 'stuck.db')}`
  const store = await openStore(url)
  for (let n = 0; n < messages; n += 100)
    await store
      .conversation('read')
      .append(Array.from({ length: 100 }, () => ({ role: 'user' as const, content: 'x'.repeat(length) })))
  await store.close()
  const server = await servingMeasured(url)
  const quiet = await serving(`sqlite:${join(folder, 'quiet.db')}`)
  const clients = [await httpClient(server.url), await httpClient(quiet.url)] as const
  const appends = clients.map(appender)
  /** Appends to both in turns; returns the p95 of each. */
  const measured = async (until: () => boolean): Promise<readonly number[]> => {
    const all = appends.map((): number[] => [])
    while (!until() || (all[0]?.length ?? 0) < samples)
      for (const [index, append] of appends.entries()) {
        await sleep(2)
        all[index]?.push(await timed(append))
      }
    return all.map(percentile95)
  }
  const stop = async (number: number): Promise<() => Promise<void>> => {
    const path = `${server.api}/conversations/read/events?after=-1`
    const file = new URL('../children/stuck.ts', import.meta.url).pathname
    const child = fork(file, [path, String(number)], { execArgv: [] })
    await once(child, 'message')
    return async () => {
      child.send('end')
      await once(child, 'exit')
    }
  }
  // Code that a first reader has compiled is no memory of each.
  const ends = [await stop(1)]
  await measured(() => true)
  const before = await settled(server.memory)
  let isStopped = false
  const stopping = stop(readers).finally(() => (isStopped = true))
  const [coming = NaN, notComing = NaN] = await measured(() => isStopped)
  ends.push(await stopping)
  const after = await settled(server.memory)
  const [beside = NaN, without = NaN] = await measured(() => true)
  for (const end of ends) await end()
  for (const { close } of clients) close()
  await Promise.all([server.close(), quiet.close()])
  return {
    title: `${readers} readers of an event stream who have stopped reading`,
    figures: [
      { what: 'an append while they come, p95', figure: duration(coming) },
      { what: 'beside them, p95', figure: duration(beside) },
      { what: 'to a server without readers, p95', figure: duration(without) },
      atMost('p95 while they come, of that without them', coming / notComing, 3, ratio),
      atMost('p95 beside them, of that without them', beside / without, 3, ratio),
      atMost('memory of each', (after - before) / readers / 1_000, 200, kilobytes),
    ],
    notes: [
      `They read a conversation of ${messages} messages of ${length / 1_000} kB from its beginning, each from a connection of its own. One client appends to another conversation and to another server in turns, durable, SQLite; ${count(samples)} appends of 1 KB to each. Memory is that of the heap and of buffers, after garbage was collected.`,
    ],
  }
}

const appender = (client: HttpClient): (() => Promise<string>) => {
  let after = -1
  return () => {
    const command = JSON.stringify({ type: 'append', messages: [messageAt(after + 1)], after: after++ })
    return client.post('/api/v1/conversations/written/commands', command)
  }
}

/** Reads a figure until it no longer grows. */
const settled = async (read: () => Promise<number>): Promise<number> => {
  let now = await read()
  for (let earlier = 0; Math.abs(now - earlier) > 100_000; now = await read()) earlier = now
  return now
}

const percentile95 = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? NaN
const ratio = (factor: number): string => `${factor.toFixed(2)} ×`
const kilobytes = (value: number): string => `${count(value)} kB`
