import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore, type Store } from 'palimpsest'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { palimpsestLine } from '../../src/formats/write-palimpsest.ts'

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
  rmSync(folder, { recursive: true })
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

describe('the event loop comes round', () => {
  test.each(Object.keys(operations))('during %s', async (name) => {
    let turns = 0
    let isOver = false
    const turn = (): void => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    slowClock()
    await operations[name]?.()
    isOver = true
    // The first ones come as soon as anything waits at all.
    expect(turns).toBeGreaterThan(10)
  })
})
