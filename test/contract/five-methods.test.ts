import fc from 'fast-check'
import { openStore } from 'palimpsest'
import { memoryStore, type StoreAdapter, storeContract } from 'palimpsest/testing'
import { describe, expect, test } from 'vitest'
import { completeStore } from '../../src/store/complete-store.ts'
import { right } from '../support/either.ts'

/** A database that only appends, reads and follows. */
const fiveMethods = (): StoreAdapter => {
  const { url, append, read, readAll, follow, close } = memoryStore()
  return { url, append, read, readAll, follow, close }
}

describe('a store of five methods keeps the contract', () => {
  test.each(storeContract)('$title', async ({ run }) => {
    await expect(run(fiveMethods())).resolves.toBeUndefined()
  })
})

test('its own index serves a store that keeps no blobs: the streams of blobs are in no list', async () => {
  const { blobs: _, ...indexed } = memoryStore()
  const store = completeStore(indexed)
  const event = { id: 'e', type: 'MessageAppended', data: '{}', metadata: '{}' }
  await store.blobs.put('abc', [Buffer.from('abc')])()
  await store.append({ stream: 'a', events: [event], expected: -1 })()
  await store.blobs.put('abcd', [Buffer.from('abcd')])()
  expect(right(await store.streams('', '', 1)())).toEqual(['a'])
  expect(right(await store.newest([''], undefined, 1)())).toEqual(['a'])
  expect(right(await store.newest([''], 'a', 1)())).toEqual([])
})

test('answers as a store with an index does, whatever is appended', async () => {
  const stream = fc.stringMatching(/^[ab]-[0-9é😀\uffff]{1,2}$/u)
  await fc.assert(
    fc.asyncProperty(
      fc.array(stream, { maxLength: 40 }),
      fc.nat(50),
      fc.integer({ min: 1, max: 9 }),
      async (names, at, limit) => {
        const memory = memoryStore()
        const { url, append, read, readAll, follow, close } = memory
        const slow = completeStore({ url, append, read, readAll, follow, close })
        let since: string | undefined
        const lengths = new Map<string, number>()
        for (const [index, name] of names.entries()) {
          const expected = (lengths.get(name) ?? 0) - 1
          const event = { id: `e${index}`, type: 'MessageAppended', data: '{}', metadata: '{}' }
          right(await append({ stream: name, events: [event], expected })())
          lengths.set(name, expected + 2)
          if (index === at) since = right(await slow.changed('a-', undefined)()).checkpoint
        }
        const before = names[at]
        for (const prefix of ['a-', 'b-', '']) {
          const sorted = [...lengths.keys()].filter((name) => name.startsWith(prefix))
          sorted.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
          const after = sorted[Math.floor(sorted.length / 2)] ?? ''
          expect(right(await slow.streams(prefix, '', limit)())).toEqual(sorted.slice(0, limit))
          expect(right(await slow.streams(prefix, after, limit)())).toEqual(
            sorted.slice(sorted.indexOf(after) + 1, sorted.indexOf(after) + 1 + limit),
          )
          expect(await slow.newest([prefix], before, limit)()).toEqual(
            await memory.newest([prefix], before, limit)(),
          )
          expect(await slow.changed(prefix, since)()).toEqual(await memory.changed(prefix, since)())
        }
        expect(await slow.find(names[0] ?? 'a', 'e0')()).toEqual(await memory.find(names[0] ?? 'a', 'e0')())
        expect(await slow.find('a-1', 'none')()).toEqual(await memory.find('a-1', 'none')())
      },
    ),
    { numRuns: 50 },
  )
})

test('serves conversations, lists, large content and its removal', async () => {
  const adapter = fiveMethods()
  const store = await openStore(adapter, { largeContent: 1_024 })
  const large = 'x'.repeat(2_000)
  await store.conversation('a').append([
    { role: 'user', content: 'Hello.' },
    { role: 'assistant', content: large },
  ])
  await store.conversation('b').append({ role: 'user', content: 'Hi.' }, { commandId: 'same' })
  await store.conversation('b').append({ role: 'user', content: 'Hi.' }, { commandId: 'same' })
  expect((await store.conversation('a').render()).messages[1]?.content).toEqual([
    { type: 'text', text: large },
  ])
  expect(await store.conversation('b').verify()).toEqual({ conversation: 'b', events: 1 })
  const ids: string[] = []
  for await (const { id } of store.conversations()) ids.push(id)
  expect(ids).toEqual(['b', 'a'])
  expect((await store.gc({ olderThan: new Date() })).blobs).toBe(1)
  await store.close()
})
