import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fixed } from '../../examples/sample/fixed.ts'
import { play } from '../../examples/sample/scene.ts'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'

const opened = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  return store
}

describe('the sample with receipts', () => {
  test('is what a program of the project makes: `npm run sample` after a change', async () => {
    const store = await opened()
    await play(store)
    const [main, fork, explorer] = sampleIds
    const file = new URL('../../examples/sessions/receipts.jsonl', import.meta.url)
    expect((await fixed(store, [main, explorer, fork])).join('')).toBe(readFileSync(file, 'utf8'))
  })

  test('has a receipt of every call, and each is right', async () => {
    const store = await opened()
    await loadSample(store)
    for (const id of sampleIds) {
      const chat = store.conversation(id)
      const { receipts, findings } = await chat.verifyReceipts()
      let calls = 0
      for await (const _ of chat.calls()) calls++
      expect({ id, receipts, findings }).toEqual({ id, receipts: calls, findings: [] })
      expect(receipts).toBeGreaterThan(1)
    }
  })

  test('has whatever can become of a conversation', async () => {
    const store = await opened()
    await loadSample(store)
    const [main, fork, explorer] = sampleIds
    const chat = store.conversation(main)
    const types = new Set<string>()
    const failed: string[] = []
    for await (const { type, data } of chat.events()) {
      types.add(type)
      for (const block of type === 'MessageAppended' ? data.content : [])
        if (block['is_error'] === true) failed.push(JSON.stringify(block['content']))
    }
    expect(types).toEqual(
      new Set(['Configured', 'MessageAppended', 'Condensed', 'Truncated', 'Restored', 'Rewound']),
    )
    expect(failed.length).toBeGreaterThan(1)
    expect(await chat.waiting()).toMatchObject([{ tool: 'publish', why: 'approval' }])
    expect(await chat.links()).toMatchObject([
      { from: explorer, relation: 'subagent-of', conversation: main },
    ])
    expect((await store.conversation(fork).effective()).length).toBeGreaterThan(10)
  })

  test('is loaded once', async () => {
    const store = await opened()
    await loadSample(store)
    const chat = store.conversation(sampleIds[0])
    const before = [await chat.position(), await chat.waiting()]
    await loadSample(store)
    expect([await chat.position(), await chat.waiting()]).toEqual(before)
  })
})
