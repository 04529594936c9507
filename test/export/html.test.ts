import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gather } from '../../src/cli/html/gather.ts'
import { mark, redacted } from '../../src/cli/html/redact.ts'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore, type Store } from '../../src/index.ts'
import { answerTo } from '../../src/ui/source/embedded/answers.ts'
import { atEnd } from '../support/at-end.ts'
import { runs, some } from '../support/runs.ts'
import { serving } from '../support/server/asking.ts'

const [main, fork] = sampleIds
const opened = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  return store
}
const sample = async (): Promise<Store> => {
  const store = await opened()
  await loadSample(store)
  return store
}

describe('a page without a server', () => {
  test.for([main, fork])('answers what the server answers: %s, at every position', async (id) => {
    const store = await sample()
    const { fetch } = await serving({ store })
    const file = await gather(store, store.conversation(id), { calls: true })
    const last = file.events.length - 1
    const same = async (path: string): Promise<void> => {
      const of = `conversations/${id}${path}`
      const response = await fetch(of)
      expect({ path, status: response.status }).toEqual({ path, status: 200 })
      const answer: unknown = JSON.parse(JSON.stringify(answerTo(file, `/${of}`)))
      expect({ path, answer }).toMatchObject({ path, answer: await response.json() })
    }
    for (const at of some(file.events.keys().toArray())) {
      await same(`/effective?at=${at}&clip=200`)
      await same(`/full?at=${at}&abandoned=true&clip=90`)
      await same(`/full?at=${at}&last=3&before=${at}`)
      await same(`/request?at=${at}`)
      await same(`/diff?from=${at}&to=${last - at}`)
      await same(`/events/${at}`)
    }
    await same('/events?from=3&limit=5&clip=40')
    await same('/effective?offset=2&limit=3')
    await same('/calls')
    await same('/calls/1')
    await same('/links')
    await same('/notes')
  })

  test('has nothing of what came after its position', async () => {
    const store = await sample()
    const file = await gather(store, store.conversation(main), { at: 20, calls: true })
    expect(JSON.stringify(file)).not.toContain('publish 1.4.0')
    expect(answerTo(file, `/conversations/${main}`)).toMatchObject({ position: 20, waiting: 0 })
    expect(answerTo(file, `/conversations/${main}/effective`)).toMatchObject({ at: 20 })
  })
})

describe('what is redacted', () => {
  test('is unreadable wherever it was: said, called with, answered, configured, in requests and titles', async () => {
    const store = await opened()
    const chat = store.conversation('secrets')
    const secret = 'sk-live42'
    await chat.configure({ system: `The key is ${secret}.`, tools: [{ name: 'get', description: secret }] })
    await chat.append([
      { role: 'user', content: `Use ${secret}, please.` },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool_use',
            id: 'call-1',
            name: 'get',
            input: { type: secret, [secret]: [{ id: secret }] },
          },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call-1', content: `"${secret}"` }] },
    ])
    await chat.note({ kind: 'title', data: `About ${secret}` })
    await chat.condense({ covers: { first: 1, last: 1 }, summary: `It was ${secret}.` })
    const file = await gather(store, chat, { redact: /sk-\w+/ })
    expect(JSON.stringify(file)).not.toContain(secret)
    expect(file.redacted).toBeGreaterThan(7)
    expect(file.events.map(({ id }) => id)).toEqual(
      (await gather(store, chat, {})).events.map(({ id }) => id),
    )
    expect(JSON.stringify(file.events)).toContain(`Use ${mark}, please.`)
  })

  test('leaves no match, and everything else as it was', () => {
    const word = fc.constantFrom('key', 'a key', 'id', 'input', '__proto__', 'k', 'keykey', 'text')
    const json = fc.jsonValue({ stringUnit: 'grapheme' })
    const values = fc.letrec<{ readonly value: unknown }>((tie) => ({
      value: fc.oneof(word, json, fc.array(tie('value')), fc.dictionary(word, tie('value'))),
    })).value
    fc.assert(
      fc.property(values, (value) => {
        const { value: once, places } = redacted(value, /key/)
        const { value: twice, places: more } = redacted(once, /key/)
        expect(more).toBe(0)
        expect(JSON.stringify(twice)).toBe(JSON.stringify(once))
        expect(sizeOf(once)).toBe(sizeOf(value))
        if (places === 0) expect(JSON.stringify(once)).toBe(JSON.stringify(value))
      }),
      { numRuns: runs(200) },
    )
  })
})

/** How many values there are in a JSON value, at all levels. */
const sizeOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 1
  return 1 + Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 0)
}
