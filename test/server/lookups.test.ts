import { describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { text, toolResult } from '../support/log.ts'
import { serving } from '../support/server/asking.ts'
import { stores } from '../support/stores.ts'

const call = (id: string, name: string) => ({ type: 'tool_use', id, name, input: {} }) as const

/** A conversation `a` with a call, its result, a summary of both, and a rewind; `b` is a fork of it. */
const working = async () => {
  const scene = await serving()
  const chat = scene.store.conversation('a')
  await chat.append({ role: 'user', content: 'Close the strings.' })
  await chat.append({ role: 'assistant', content: [text('I look.'), call('c1', 'Read')] })
  await chat.append({ role: 'user', content: [toolResult('c1')] })
  await chat.condense({ covers: { first: 0, last: 2 }, summary: 'They are closed.' })
  await chat.append({ role: 'assistant', content: 'Done.' })
  await chat.fork('b', { at: 3 })
  await chat.rewind({ to: 3 })
  return scene
}

describe('what the index answers over HTTP', () => {
  test('is the outline of a conversation, whole or in parts', async () => {
    const { ask } = await working()
    const { json, headers } = await ask('conversations/a/outline')
    expect(json).toMatchObject({ from: 0, to: 5, last: 5, indexed: 5, kinds: 'ucrCaW', calls: [] })
    expect(json['markers']).toMatchObject([{ position: 3, kind: 'condensed', first: 0, last: 2, hidden: 3 }])
    expect(json['rewinds']).toEqual([{ position: 5, to: 3 }])
    const tokens = json['tokens'] as readonly number[]
    expect(tokens[5]).toBe(tokens[3])
    const etag = headers.get('etag') ?? ''
    expect((await ask('conversations/a/outline', { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await ask('conversations/a/outline?from=1&to=2')).json).toMatchObject({
      from: 1,
      to: 2,
      kinds: 'cr',
      tokens: tokens.slice(1, 3),
    })
    expect((await ask('conversations/b/outline')).json).toMatchObject({ kinds: 'ucrC-', last: 4 })
    expect(await ask('conversations/a/outline?from=6')).toMatchObject({ status: 404 })
    expect(await ask('conversations/none/outline')).toMatchObject({ status: 404 })
  })

  test('is there as soon as it was written', async () => {
    const { ask, store } = await working()
    for (let n = 6; n < 12; n++) {
      await store.conversation('a').append({ role: 'user', content: `Message ${n}.` })
      expect((await ask('conversations/a/outline')).json).toMatchObject({ to: n, last: n, indexed: n })
    }
  })

  test('is a picture of it in a few parts', async () => {
    const { ask } = await working()
    const { json } = await ask('conversations/a/overview?buckets=3')
    expect(json).toMatchObject({
      buckets: 3,
      first: [0, 2, 4],
      kinds: { C: [0, 1, 0], W: [0, 0, 1] },
      markers: [0, 1, 0],
      rewinds: [0, 0, 1],
    })
    expect((await ask('conversations/a/overview')).json).toMatchObject({ buckets: 6 })
  })

  test('is what a marker hides', async () => {
    const { ask } = await working()
    expect((await ask('conversations/b/hidden/3')).json).toEqual({
      marker: 3,
      messages: 3,
      kinds: { u: 1, c: 1, r: 1 },
      tools: [['Read', 1]],
    })
    expect(await ask('conversations/a/hidden/2')).toMatchObject({ status: 404, json: { tag: 'NotFound' } })
    expect(await ask('conversations/a/hidden/99')).toMatchObject({ status: 404, json: { tag: 'OutOfRange' } })
  })

  test('is what several markers hide, without those that hide nothing', async () => {
    const { ask } = await working()
    const one = (await ask('conversations/a/hidden/3')).json
    expect((await ask('conversations/a/hidden?markers=3,2,3')).json).toEqual({ items: [one, one] })
    expect((await ask('conversations/a/hidden?markers=0')).json).toEqual({ items: [] })
    const many = Array.from({ length: 201 }, () => 3).join()
    expect(await ask(`conversations/a/hidden?markers=${many}`)).toMatchObject({
      status: 400,
      json: { path: 'markers' },
    })
  })

  test('is where a text was said, in one conversation or in all', async () => {
    const { ask, store } = await working()
    const { json } = await ask('conversations/b/search?q=CLOSE')
    expect(json).toMatchObject({
      last: 4,
      indexed: 4,
      isComplete: true,
      items: [
        { conversation: 'b', position: 3, kind: 'C', now: { state: 'shown' } },
        {
          position: 0,
          kind: 'u',
          excerpt: { before: '', match: 'Close', after: ' the strings.' },
          now: { state: 'hidden', by: 3 },
          then: { state: 'shown' },
        },
      ],
    })
    await store.conversation('c').append({ role: 'user', content: 'Close the door.' })
    const one = (await ask('search?q=close%20the&limit=1')).json
    expect(one).toMatchObject({ items: [{ conversation: 'c', position: 0 }] })
    const rest = (await ask(`search?q=close%20the&cursor=${String(one['next'])}`)).json
    expect(rest).toMatchObject({ items: [{ conversation: 'a', position: 0 }] })
    expect(rest['next']).toBeUndefined()
    expect(await ask('search?q=ab')).toMatchObject({ status: 400, json: { tag: 'InvalidInput', path: 'q' } })
    expect(await ask('search?q=close&cursor=x')).toMatchObject({ status: 400, json: { path: 'cursor' } })
    expect(await ask('conversations/none/search?q=close')).toMatchObject({ status: 404 })
  })

  test('is the list, with what has happened in each, and by filters', async () => {
    const { ask, store } = await working()
    await store.conversation('c').append({ role: 'user', content: 'Another matter.' })
    expect((await ask('conversations?order=begun')).json).toMatchObject({
      total: 3,
      matching: 3,
      isComplete: true,
      items: [
        { id: 'c', title: 'Another matter.', has: [] },
        { id: 'b', parent: 'a', has: ['condensed', 'forked'] },
        { id: 'a', title: 'Close the strings.', events: 6, has: ['condensed', 'rewound'] },
      ],
    })
    const idsOf = async (query: string) => {
      const { json } = await ask(`conversations?${query}`)
      return (json['items'] as readonly { readonly id: string }[]).map(({ id }) => id)
    }
    expect(await idsOf('has=condensed,rewound')).toEqual(['a'])
    expect(await idsOf('q=STRINGS')).toEqual(['a'])
    expect(await idsOf('order=id')).toEqual(['a', 'b', 'c'])
    expect(await idsOf('order=updated&limit=1')).toEqual(['c'])
    expect(await idsOf('actor=none')).toEqual([])
    expect(await ask('conversations?has=erased')).toMatchObject({ status: 400 })
    expect(await ask('conversations?order=id&cursor=x')).toMatchObject({ status: 400 })
  })

  test.each(Object.entries(stores))('is a list that counts messages on %s', async (_, create) => {
    const store = await openStore(await create())
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.configure({ system: 'Be brief.' })
    const hello = { role: 'user', content: 'Hello.' } as const
    await chat.append([hello, { role: 'assistant', content: 'Hi.' }, hello])
    await chat.condense({ covers: { first: 1, last: 2 }, summary: 'Hi.' })
    await chat.rewind({ to: 2 })
    await chat.append(hello)
    await (await chat.fork('b', { at: 3 })).append(hello)
    const { ask } = await serving({ store })
    const { json } = await ask('conversations')
    expect(json).toMatchObject({
      items: [
        { id: 'b', messages: 4 },
        { id: 'a', messages: 4 },
      ],
    })
    for await (const { id, messages } of store.conversations()) expect([id, messages ?? 4]).toEqual([id, 4])
  })

  test.each(['q=the', 'has=condensed'])(
    'is a list whose links lead through all of it (%s)',
    async (query) => {
      const { ask, store } = await working()
      await store.conversation('c').append({ role: 'user', content: 'Another matter.' })
      const pageOf = async (path: string) => {
        const { json, headers } = await ask(path)
        const ids = (json['items'] as readonly { readonly id: string }[]).map(({ id }) => id)
        return { ids, link: /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] }
      }
      const { ids } = await pageOf(`conversations?${query}&order=id`)
      const listed: string[] = []
      for (let next: string | undefined = `?${query}&order=id&limit=1`; next !== undefined;) {
        const page = await pageOf(`conversations${next}`)
        listed.push(...page.ids)
        next = page.link
      }
      expect(listed).toEqual(ids)
    },
  )

  test('is the plain list while the index is far behind', async () => {
    const { store } = await working()
    const places = { indexed: '1/a', last: '2/b' }
    const find: Store['catalogue']['find'] = async () => ({ items: [], isComplete: false, ...places })
    const behind = await serving({ store: { ...store, catalogue: { ...store.catalogue, find } } })
    const { json } = await behind.ask('conversations?limit=1')
    expect(json).toMatchObject({ items: [{ id: 'b' }], next: ':b', isComplete: false, ...places })
    expect((await behind.ask('conversations?limit=1&cursor=:b')).json).toEqual({
      items: [expect.objectContaining({ id: 'a', title: 'Close the strings.' })],
      isComplete: false,
      order: 'begun',
    })
    expect((await behind.ask('conversations?order=updated')).json).toEqual({
      items: [],
      isComplete: false,
      ...places,
    })
  })
})
