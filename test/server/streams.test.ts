import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Conversation } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { endsWithTest, program } from '../support/node.ts'
import { scale } from '../support/runs.ts'
import { attached, type Message } from '../support/server/event-reader.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

// The full doses: npm run test:server.
const isFull = scale > 1
const cuts = isFull ? 200 : 40
const readers = isFull ? 1_000 : 60
/** What is said of 50 kB each while most do not read: they would hold three times what is allowed, or ten. */
const long = isFull ? 200 : 60

const round = fc.record({
  /** How much the reader takes before it is cut off. */
  bytes: fc.integer({ min: 1, max: 3_000 }),
  /** What is said meanwhile. */
  said: fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 5 }),
})
const rounds = fc.array(round, { minLength: cuts, maxLength: cuts })

/** Reads a stream in rounds, and then to its end: the ids of messages that have data, in the order in which they were told. */
const readInRounds = async (
  url: string,
  chat: Conversation,
  plan: readonly { readonly bytes: number; readonly said: readonly string[] }[],
): Promise<readonly Message[]> => {
  const told: Message[] = []
  let last: string | undefined
  const reading = async (
    most: number | undefined,
    isEnough: () => boolean,
    meanwhile: () => Promise<void>,
  ) => {
    const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last }
    const reader = await attached(
      url,
      headers,
      (message) => {
        if (message.id !== undefined) last = message.id
        if (message.id !== undefined && message.data !== undefined) told.push(message)
        if (isEnough()) reader.cut()
      },
      most,
    )
    await meanwhile()
    if (isEnough()) reader.cut()
    await reader.ended
  }
  let written = 1
  for (const { bytes, said } of plan) {
    let isSaid = false
    await reading(
      bytes,
      () => isSaid && told.length === written,
      async () => {
        for (const content of said) await chat.append({ role: 'user', content: `${content} ` })
        written += said.length
        isSaid = true
      },
    )
  }
  await reading(
    undefined,
    () => told.length >= written,
    async () => {},
  )
  return told
}

describe.each(['memory:', 'sqlite'])(`an event stream of a store %s, cut off ${cuts} times`, (kind) => {
  test.each([
    ['of a conversation', 'conversations/a/events?after=-1'],
    ['of the store', 'events?beginning=a'],
  ])('%s is told without a gap or a repeat', async (_, path) => {
    const store = await opened(kind === 'sqlite' ? `sqlite:${join(temporaryFolder(), 'a.db')}` : kind)
    const server = await serve({ store, port: 0 })
    atEnd(server.close)
    await fc.assert(
      fc.asyncProperty(rounds, async (plan) => {
        const chat = store.conversation('a')
        await chat.append({ role: 'user', content: 'Begin.' })
        const told = await readInRounds(`${server.url}/api/v1/${path}`, chat, plan)
        const events = []
        for await (const event of chat.events()) events.push(event)
        const data = told.map((message) => JSON.parse(message.data ?? '') as { readonly event?: object })
        expect(data.map((one) => one.event ?? one)).toEqual(JSON.parse(JSON.stringify(events)))
      }),
      { numRuns: 1, endOnFailure: true },
    )
  })
})

test(`${readers} readers of a conversation are all told everything once, and those that do not read take no memory`, async () => {
  const file = `sqlite:${join(temporaryFolder(), 'a.db')}`
  const store = await opened(`${file}?synchronous=off`)
  const chat = store.conversation('a')
  await chat.append({ role: 'user', content: 'Begin.' })
  const child = fork(program('server/children/serving.ts'), [file], { execArgv: ['--expose-gc'] })
  endsWithTest(child)
  const [url] = (await once(child, 'message')) as [string]
  const needed = async (): Promise<number> => {
    child.send('memory?')
    const [bytes] = (await once(child, 'message')) as [number]
    return bytes
  }

  const all = await Promise.all(
    Array.from({ length: readers }, async () => {
      const ids: number[] = []
      const stream = await attached(`${url}/api/v1/conversations/a/events?after=-1`, {}, ({ id }) => {
        if (id !== undefined) ids.push(Number(id))
      })
      atEnd(stream.cut)
      return { ...stream, ids }
    }),
  )
  const say = async (count: number, content: string): Promise<number> => {
    for (let n = 0; n < count; n++) await chat.append({ role: 'user', content })
    return chat.position()
  }
  /** Until they have been told everything: each position once, in order. */
  const areTold = async (some: typeof all, last: number): Promise<void> => {
    const wanted = Array.from({ length: last + 1 }, (_, position) => position)
    for (const { ids } of some) {
      await expect.poll(() => ids.length).toBeGreaterThan(last)
      expect(ids).toEqual(wanted)
    }
  }
  await areTold(all, await say(10, 'short'))
  const [reading, silent] = [all.slice(0, 5), all.slice(5)]
  for (const reader of silent) reader.pause()
  const before = await needed()
  await areTold(reading, await say(long, 'x'.repeat(50_000)))
  expect(await needed()).toBeLessThan(before + 50_000_000 + readers * 1_000_000)
  const one = silent.slice(0, 1)
  for (const reader of one) reader.resume()
  await areTold(one, await chat.position())
})

test('a reader that stops at the beginning of a long conversation takes less than 200 kB', async () => {
  const file = `sqlite:${join(temporaryFolder(), 'a.db')}`
  const store = await opened(`${file}?synchronous=off`)
  const content = 'x'.repeat(20_000)
  for (let n = 0; n < 300; n++) await store.conversation('a').append({ role: 'user', content })
  const child = fork(program('server/children/serving.ts'), [file], { execArgv: ['--expose-gc'] })
  endsWithTest(child)
  const [url] = (await once(child, 'message')) as [string]
  const needed = async (): Promise<number> => {
    child.send('memory?')
    const [bytes] = (await once(child, 'message')) as [number]
    return bytes
  }
  const path = `${url}/api/v1/conversations/a/events?after=-1`
  const stopped = async (): Promise<void> => {
    const reader = await attached(path, {}, () => {})
    reader.pause()
    atEnd(reader.cut)
  }
  // What a first reader takes, such as compiled code, is no memory of each.
  await stopped()
  const before = await needed()
  await Promise.all(Array.from({ length: 40 }, stopped))
  let now = await needed()
  // Until the connections take no more.
  for (let earlier = 0; Math.abs(now - earlier) > 100_000; now = await needed()) earlier = now
  expect(now - before).toBeLessThan(40 * 200_000)
})
