import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSample, sampleIds } from '../../../src/cli/sample.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { toError } from '../../../src/result/typed-error.ts'
import { mark, redactMatches } from '../../../src/transfer/disclosure/redact.ts'
import { answerTo } from '../../../src/ui/source/embedded/answers.ts'
import { atEnd } from '../../support/at-end.ts'
import { gathered } from '../../support/exported.ts'
import { runs, some } from '../../support/runs.ts'
import { serving } from '../../support/server/asking.ts'

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
    const file = await gathered(store, id, { calls: true })
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
    const { items } = answerTo(file, `/conversations/${id}/calls`) as { readonly items: readonly Named[] }
    expect(items.length).toBeGreaterThan(0)
    for (const { number, position } of items) await same(`/calls/${number ?? `p${position}`}`)
    await same('/links')
    await same('/notes')
    await same('/outline')
    await same('/outline?from=3&to=20')
    await same('/overview?buckets=7')
    await same(`/hidden?markers=${file.events.map(({ position }) => position).join()}`)
  })

  test.for([main, fork])('finds what the server finds, each hit with its states: %s', async (id) => {
    const store = await sample()
    const { fetch } = await serving({ store })
    const file = await gathered(store, id)
    const path = `/conversations/${id}/search`
    for (const words of [
      'invoice',
      'COSTOF',
      'tool_use',
      'src/',
      'minutes become',
      'toolu_',
      'no such words',
    ]) {
      const query = `?q=${encodeURIComponent(words)}&limit=1000`
      const { items, titles } = (await (await fetch(path.slice(1) + query)).json()) as {
        readonly items: readonly Hit[]
        readonly titles: readonly object[]
      }
      const own = answerTo(file, path + query)
      const newestFirst = items.toSorted((one, other) => other.position - one.position)
      expect(JSON.parse(JSON.stringify(own))).toEqual({
        titles,
        items: newestFirst,
        last: file.events.length - 1,
        indexed: file.events.length - 1,
      })
    }
  })

  test('finds system prompts as the server does: in force, replaced or abandoned', async () => {
    const store = await opened()
    const chat = store.conversation('a')
    await chat.configure({ system: 'You mend parsers.' })
    await chat.append([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
    ])
    await chat.configure({ system: 'You mend parsers and lexers.' })
    await chat.append({ role: 'assistant', content: 'Still here.' })
    await chat.rewind({ to: 2 })
    await chat.configure({ system: 'No parsers any more.' })
    const { ask } = await serving({ store })
    const { items } = (await ask('conversations/a/search?q=parsers')).json
    expect(items).toMatchObject([
      { position: 6, kind: 'K', now: { state: 'shown' } },
      { position: 3, kind: 'K', now: { state: 'abandoned', by: 5 }, then: { state: 'shown' } },
      { position: 0, kind: 'K', now: { state: 'hidden', by: 6 }, then: { state: 'shown' } },
    ])
    const own = answerTo(await gathered(store, 'a'), '/conversations/a/search?q=parsers')
    expect(JSON.parse(JSON.stringify(own))).toMatchObject({ items })
  })

  test('gives hits page by page, and says that there are more only if there are', async () => {
    const store = await sample()
    const file = await gathered(store, main)
    const page = (query: string) =>
      answerTo(file, `/conversations/${main}/search?q=report${query}`) as {
        readonly items: readonly Hit[]
        readonly next?: string
      }
    const all = page('&limit=1000').items
    expect(all.length).toBeGreaterThan(3)
    const paged: Hit[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { items, next } = page(`&limit=2${cursor}`)
      expect(items.length).toBeGreaterThan(0)
      paged.push(...items)
      cursor = next === undefined ? undefined : `&cursor=${next}`
    }
    expect(paged).toEqual(all)
    expect(page(`&limit=${all.length}`)).not.toHaveProperty('next')
  })

  test('is listed where the server would list it', async () => {
    const store = await sample()
    const { fetch } = await serving({ store })
    for (const id of [main, fork]) {
      const file = await gathered(store, id)
      for (const query of [
        '',
        'q=INVOICE',
        'q=no%20such%20words',
        `q=${id.slice(2, 8)}`,
        `beginning=${id.slice(0, 4)}`,
        'beginning=none',
        'has=condensed',
        'has=condensed,rewound',
        'has=forked',
        'actor=user',
        'actor=nobody',
        'model=no-model',
      ]) {
        const answer = (await (await fetch(`conversations?${query}`)).json()) as Listed
        const isListed = answer.items.some((item) => item.id === id)
        const own = answerTo(file, `/conversations?${query}`) as Listed
        expect({ query, listed: own.items.length, matching: own.matching }).toEqual({
          query,
          listed: isListed ? 1 : 0,
          matching: isListed ? 1 : 0,
        })
      }
    }
  })

  test('has the curve of the whole conversation, whatever the index knows by then', async () => {
    const store = await opened()
    const chat = store.conversation('long')
    for (let batch = 0; batch < 30; batch++)
      await chat.append(
        Array.from({ length: 100 }, (_, n) => ({
          role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
          content: 'So it is.',
        })),
      )
    const blind = { ...store, catalogue: noCatalogue(store) }
    const { tokens } = await gathered(blind, 'long')
    expect(tokens).toHaveLength(3_000)
    await expect.poll(async () => (await store.catalogue.outline('long')).tokens).toEqual(tokens)
  })

  test("is not written without what the store does not give: the error is the store's", async () => {
    const store = await sample()
    const broken = {
      ...store,
      conversation: (id: string) => ({ ...store.conversation(id), notes: () => Promise.reject(busy) }),
    }
    await expect(gathered(broken, main)).rejects.toMatchObject({
      _tag: 'StoreBusy',
      message: busy.message,
    })
  })

  test('has nothing of what came after its position', async () => {
    const store = await sample()
    const file = await gathered(store, main, { at: 20, calls: true })
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
    const file = await gathered(store, 'secrets', { redact: /sk-\w+/ })
    expect(JSON.stringify(file)).not.toContain(secret)
    expect(file.redacted).toBeGreaterThan(7)
    expect(file.events.map(({ id }) => id)).toEqual(
      (await gathered(store, 'secrets')).events.map(({ id }) => id),
    )
    expect(JSON.stringify(file.events)).toContain(`Use ${mark}, please.`)
  })

  test('is unreadable in whatever has a shape of its own: under any name, as a number, as a name', async () => {
    const store = await opened()
    const chat = store.conversation('card')
    const card = 4111111111111111
    await chat.append([
      { role: 'user', content: 'Pay.' },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool_use',
            id: 'call-1',
            name: 'pay',
            input: { card, from: 'alice@x', [`${card}`]: [card] },
          },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call-1', content: 'Paid.' }] },
    ])
    await chat.note({
      kind: 'shop/payment',
      data: { from: 'alice@x', id: card, time: 'alice@x', alice: { type: card } },
    })
    const text = JSON.stringify(await gathered(store, 'card', { redact: /4111\d+|alice@x/ }))
    expect(text).not.toMatch(/4111|alice@x/)
    expect(text).toContain(`"input":{"card":"${mark}","from":"${mark}","${mark}":["${mark}"]}`)
    expect(text).toContain('"kind":"shop/payment"')
  })

  test('leaves the page its own names: of fields, and the paths of answers', async () => {
    const store = await sample()
    const whole = await gathered(store, main, { calls: true })
    for (const redact of [/token|content|position/, new RegExp(main), /./s]) {
      const file = await gathered(store, main, { calls: true, redact })
      expect(Object.keys(file.answers)).toEqual(Object.keys(whole.answers))
      expect(file.tokens).toEqual(whole.tokens)
      expect(file.events.map(({ data }) => Object.keys(data))).toEqual(
        whole.events.map(({ data }) => Object.keys(data)),
      )
      const at = `/conversations/${main}/effective`
      expect(answerTo(file, at)).toHaveProperty('total', (answerTo(whole, at) as { total: number }).total)
    }
  })

  test('leaves no match, and everything else as it was', () => {
    const word = fc.constantFrom('key', 'a key', 'id', 'input', '__proto__', 'k', 'keykey', 'text')
    const json = fc.jsonValue({ stringUnit: 'grapheme' })
    const values = fc.letrec<{ readonly value: unknown }>((tie) => ({
      value: fc.oneof(word, json, fc.array(tie('value')), fc.dictionary(word, tie('value'))),
    })).value
    fc.assert(
      fc.property(values, (value) => {
        const { value: once, places } = redactMatches(value, /key/)
        const { value: twice, places: more } = redactMatches(once, /key/)
        expect(more).toBe(0)
        expect(JSON.stringify(twice)).toBe(JSON.stringify(once))
        expect(sizeOf(once)).toBe(sizeOf(value))
        if (places === 0) expect(JSON.stringify(once)).toBe(JSON.stringify(value))
      }),
      { numRuns: runs(200) },
    )
  })
})

interface Named {
  readonly number?: number
  readonly position: number
}
interface Hit {
  readonly conversation?: string
  readonly position: number
}
interface Listed {
  readonly items: readonly { readonly id: string }[]
  readonly matching?: number
}

/** An index that knows nothing yet: calls, it reads in the log. */
const noCatalogue = ({ catalogue }: Store): Store['catalogue'] =>
  new Proxy(catalogue, {
    get: (_, name) =>
      name === 'calls' ? catalogue.calls : () => Promise.reject(new Error('the index was asked')),
  })
const busy = toError({ _tag: 'StoreBusy' as const, message: 'the store is busy', store: 'memory:' })

/** How many values there are in a JSON value, at all levels. */
const sizeOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 1
  return 1 + Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 0)
}
