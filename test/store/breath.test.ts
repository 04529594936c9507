import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as eventLoop } from 'node:timers/promises'
import { openStore, type Store } from 'palimpsest'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { newKeyFile } from '../../src/audit.ts'
import { breath } from '../../src/store/breath.ts'
import { palimpsestLine } from '../../src/transfer/formats/write-palimpsest.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
const messages = 6_000
let store: Store
let text = ''

beforeAll(async () => {
  store = await openStore(`sqlite:${join(folder, 'store.db')}?synchronous=off`)
  const content = 'word '.repeat(100)
  await store
    .conversation('c')
    .append(
      Array.from({ length: messages }, (_, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content })),
    )
  for await (const event of store.conversation('c').stored()) text += `${palimpsestLine(event)}\n`
  for (let n = 0; n < 300; n++) await store.conversation(`s${n}`).append({ role: 'user', content })
})
afterAll(async () => {
  await store.close()
  await many.close()
  rmSync(folder, { recursive: true })
})

const short = 300
let many: Store
beforeAll(async () => {
  many = await openStore(`sqlite:${join(folder, 'many.db')}?synchronous=off`)
  const signer = await newKeyFile(join(folder, 'key.pem'))
  await many.audit.init({ signer })
  const content = 'word '.repeat(20_000)
  await many.conversation('large').append({ role: 'user', content })
  for (let n = 0; n < short; n++) await many.conversation(`c${n}`).append({ role: 'user', content: 'Hello.' })
  await many.audit.seal({ signer })
})

const all = async (items: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of items);
}
const operations: Readonly<Record<string, () => Promise<unknown>>> = {
  verify: () => store.conversation('c').verify(),
  check: () => store.check(),
  events: () => all(store.conversation('c').events()),
  stored: () => all(store.conversation('c').stored()),
  effective: () => store.conversation('c').effective(),
  full: () => store.conversation('c').full(),
  timeline: () => store.conversation('c').timeline(),
  diff: () => store.conversation('c').diff({ from: 5 }),
  readAll: () => all(store.readAll()),
  list: () => all(store.conversations()),
  'import of what is there': () => store.importSession({ text, file: 'c.jsonl' }),
}

// How fast the machine is must not matter: by this clock, time is up whenever anybody asks.
let now = 1e9
const slowClock = (): void => {
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 10))
}
afterEach(() => {
  vi.restoreAllMocks()
})

/** How often the event loop comes round during some work. */
const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  slowClock()
  await work()
  isOver = true
  return turns
}

describe('the event loop comes round', () => {
  test.each(Object.keys(operations))('during %s', async (name) => {
    // The first ones come as soon as anything waits at all.
    expect(await turnsDuring(async () => operations[name]?.())).toBeGreaterThan(10)
  })

  test('between the pieces of a long outline and of an overview', async () => {
    const memory = await openStore('memory:')
    const content = Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'Hello.' }) as const)
    await memory.conversation('long').append(content)
    const { catalogue } = memory
    while ((await catalogue.outline('long', { to: 0 })).indexed < content.length - 1);
    const one = await turnsDuring(() => catalogue.outline('long', { to: 0 }))
    expect(await turnsDuring(() => catalogue.outline('long'))).toBeGreaterThan(one + 3)
    expect(await turnsDuring(() => catalogue.overview('long'))).toBeGreaterThan(one + 3)
    await memory.close()
  })

  test.each([
    // Since its beginning: the check of the file, in a thread of its own, is waited for otherwise.
    ['an audit', () => all(many.audit.verify({ since: '0@' }))],
    ['a garbage collection', () => many.gc({ olderThan: new Date(), dryRun: true })],
  ])('between two short conversations, during %s', async (_, work) => {
    expect(await turnsDuring(work)).toBeGreaterThan(short)
  })
})

test('the first work in a turn of the event loop does not pause, and what follows a pause has a limited time again', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now)
  await eventLoop()
  clock.mockReturnValue((now += 1_000))
  expect(breath()).toBeUndefined()
  clock.mockReturnValue((now += 10))
  const pause = breath()
  expect(pause).toBeInstanceOf(Promise)
  await pause
  expect(breath()).toBeUndefined()
  clock.mockReturnValue((now += 10))
  expect(breath()).toBeInstanceOf(Promise)
})
