import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import type { RecordedEvent } from '../../src/store/port.ts'
import { openEvents } from '../../src/api/open.ts'
import { atEnd } from '../support/at-end.ts'
import { text } from '../support/log.ts'
import { start } from '../support/node.ts'
import { temporaryFolder, temporaryServer } from '../support/stores.ts'
import { wrongIn } from '../support/workers/judge.ts'

const conversations = 30
const rounds = 2

/** A process that gives turns; `id` is what the log calls it. */
interface Child {
  readonly process: ChildProcess
  readonly id: Promise<string>
}

const child = (url: string, api: string): Child => {
  const process = start('workers/children/worker.ts', url, api, '1000')
  const id = new Promise<string>((resolve) => {
    process.stdout?.once('data', (line: Buffer) => resolve(String(line).trim()))
  })
  atEnd(() => void process.kill('SIGKILL'))
  return { process, id }
}

/** Every event of the store, as it is stored. */
const rawEvents = async (url: string): Promise<readonly RecordedEvent[]> => {
  const opened = await openEvents(url)()
  if (E.isLeft(opened)) throw new Error(opened.left.message)
  const all: RecordedEvent[] = []
  for (let after: string | undefined; ;) {
    const page = await opened.right.readAll({ after, limit: 1_000 })()
    if (E.isLeft(page)) throw new Error(page.left.message)
    all.push(...page.right.events)
    if (page.right.events.length === 0) break
    after = page.right.checkpoint
  }
  await opened.right.close()()
  return all
}

const openSteps = async (store: Store): Promise<readonly string[]> => {
  const open: string[] = []
  for await (const { conversation, state } of store.steps()) open.push(`${conversation} ${state}`)
  return open
}

const file = (): Promise<string> => Promise.resolve(`sqlite:${join(temporaryFolder(), 'store.db')}`)
const server = async (): Promise<string> => (await temporaryServer()).url

describe('three worker processes', () => {
  test.each([
    { name: 'a file', place: file, deaths: 7 },
    { name: 'EventStoreDB', place: server, deaths: 3 },
  ])(
    'on $name answer every message once while one of them is killed each second',
    async ({ place, deaths }) => {
      const url = await place()
      const api = await messagesApi({
        reply: async ({ messages }) => {
          await sleep(100 + Math.random() * 300)
          const last = JSON.stringify(messages.at(-1))
          return last.includes('look') && !last.includes('tool_result')
            ? { content: [{ type: 'tool_use', id: `t${Math.random()}`, name: 'look', input: {} }] }
            : { content: [text('Yes.')] }
        },
      })
      atEnd(api.close)
      const store = await openStore(url)
      atEnd(store.close)
      const children = [0, 1, 2].map(() => child(url, api.url))
      const chats = Array.from({ length: conversations }, (_, n) => store.conversation(`c${n}`))
      const saying = (async () => {
        for (let round = 0; round < rounds; round++) {
          for (const chat of chats) {
            const content = Math.random() < 0.5 ? 'look' : 'hello'
            await chat.append({ role: 'user', content }, { answer: true })
          }
          await sleep(2_000)
        }
      })()
      for (let kills = 0; kills < deaths; kills++) {
        await sleep(1_000)
        const index = Math.floor(Math.random() * children.length)
        const victim = children[index]
        const id = await victim?.id
        victim?.process.kill('SIGKILL')
        // Every other death is reported; the others have to be noticed.
        if (id !== undefined && kills % 2 === 0) await store.workerStopped(id)
        children[index] = child(url, api.url)
      }
      await saying
      const ends = performance.now() + 15_000
      while ((await openSteps(store)).length > 0 && performance.now() < ends) await sleep(50)
      const events = await rawEvents(url)
      expect(wrongIn(events)).toEqual([])
      expect(events.filter(({ type }) => type === 'TurnParked')).toEqual([])
      for (const chat of chats) expect((await chat.effective()).at(-1)).toMatchObject({ role: 'assistant' })
      expect(events.filter(({ type }) => type === 'TurnClaimed').length).toBeGreaterThan(conversations)
    },
    60_000,
  )

  test('one that is told to stop ends its turns, and says so', async () => {
    const url = await file()
    const api = await messagesApi({ reply: () => ({ content: [text('Yes.')] }) })
    atEnd(api.close)
    const store = await openStore(url)
    atEnd(store.close)
    const { process: worker, id } = child(url, api.url)
    await store.conversation('c').append({ role: 'user', content: 'hello' }, { answer: true })
    while ((await openSteps(store)).length > 0) await sleep(20)
    const stopped = new Promise<number | null>((resolve) => {
      worker.once('exit', resolve)
    })
    worker.kill('SIGTERM')
    expect(await stopped).toBe(0)
    const events = await rawEvents(url)
    expect(events.at(-1)).toMatchObject({ type: 'WorkerStopped', stream: `worker-${await id}` })
    expect(events.filter(({ type }) => type === 'TurnClaimed')).toHaveLength(1)
  }, 60_000)
})
