import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { linkHeader, pageOf } from '../../src/server/paging.ts'
import { serving } from '../support/server/asking.ts'

const directions = fc.constantFrom('forward' as const, 'backward' as const, undefined)

describe('a page', () => {
  test('has beside it what comes before and after it, and nothing twice', () => {
    fc.assert(
      fc.property(
        fc.nat(40),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: -1, max: 30 }),
        directions,
        (from, limit, end, direction) => {
          const all = Array.from({ length: end + 1 }, (_, index) => index)
          const listed = direction === 'backward' ? all.toReversed() : all
          const on = (page: { readonly first: number; readonly last: number }): readonly number[] =>
            listed.filter((position) => page.first <= position && position <= page.last)
          const first = pageOf({ from, limit, direction }, end)
          const after = [...on(first)]
          for (let { next } = first; next;) {
            const page = pageOf({ ...next, direction }, end)
            after.push(...on(page))
            next = page.next
          }
          const before: number[] = []
          for (let { prev } = first; prev;) {
            const page = pageOf({ ...prev, direction }, end)
            before.unshift(...on(page))
            prev = page.prev
          }
          expect([...before, ...after]).toEqual(listed)
          expect(on(first).length).toBeLessThanOrEqual(limit)
          if (direction === 'backward') expect(after).toEqual(listed.filter((position) => position <= from))
          else expect(after).toEqual(listed.filter((position) => position >= from))
        },
      ),
    )
  })

  test('is found by a link that has the rest of the query', () => {
    const query = { at: undefined, fields: ['id', 'type'], from: 5, limit: 2, q: 'a b&c' }
    const { link } = linkHeader(query, { next: { from: 7, limit: 2 }, prev: { from: 3, limit: 2 } })
    expect(link).toBe(
      '<?fields=id,type&from=7&limit=2&q=a+b%26c>; rel="next", <?fields=id,type&from=3&limit=2&q=a+b%26c>; rel="prev"',
    )
    expect(linkHeader(query, { next: undefined })).toEqual({})
  })
})

/** A conversation `a` of nine messages. */
const listing = async () => {
  const scene = await serving()
  const messages = Array.from({ length: 9 }, (_, n) => ({
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `Number ${n}.`,
  }))
  await scene.store.conversation('a').append(messages)
  return scene
}
const linked = (headers: Headers, rel: string): string | undefined =>
  new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('link') ?? '')?.[1]

describe('a list over HTTP', () => {
  test.each([
    ['events', '?limit=4', [[0, 1, 2, 3], [4, 5, 6, 7], [8]]],
    ['events', '?limit=4&direction=backward', [[8, 7, 6, 5], [4, 3, 2, 1], [0]]],
    ['effective', '?limit=4', [[0, 1, 2, 3], [4, 5, 6, 7], [8]]],
  ])('has links to the page before and after: %s%s', async (path, query, pages) => {
    const { ask } = await listing()
    const walked = async (rel: string, begin: string): Promise<readonly (readonly number[])[]> => {
      const found: (readonly number[])[] = []
      for (let next: string | undefined = begin; next !== undefined;) {
        const { json, headers } = await ask(`conversations/a/${path}${next}`)
        found.push(
          (json['items'] as readonly { readonly position: number }[]).map(({ position }) => position),
        )
        next = linked(headers, rel)
      }
      return found
    }
    expect(await walked('next', query)).toEqual(pages)
    const last = path === 'effective' ? '&offset=8' : `&from=${pages.at(-1)?.[0]}`
    expect((await walked('prev', query + last)).toReversed()).toEqual(pages)
  })

  test('of entries has a link to the older ones, and says when there are none', async () => {
    const { ask } = await listing()
    const { json, headers } = await ask('conversations/a/full?last=4')
    expect(json).toMatchObject({ next: 5, items: [5, 6, 7, 8].map((position) => ({ position })) })
    const rest = await ask(`conversations/a/full${linked(headers, 'next')}&clip=1`)
    expect(rest.json).toMatchObject({ next: 1 })
    const first = await ask('conversations/a/full?last=9')
    expect([first.json['next'], first.headers.get('link')]).toEqual([undefined, null])
  })
})

describe('events over HTTP', () => {
  test('have the fields that are asked for', async () => {
    const { ask, store } = await listing()
    const { items } = (await ask('conversations/a/events?limit=1&fields=type,metadata')).json
    const [first] = items as readonly object[]
    expect(Object.keys(first ?? {}).toSorted()).toEqual(['metadata', 'position', 'type'])
    const cut = (await ask('conversations/a/events?limit=1&fields=data&clip=3')).json
    expect(cut).toMatchObject({ items: [{ position: 0, cuts: [{ block: 0, field: 'text', length: 9 }] }] })
    const without = (await ask('conversations/a/events?limit=1&fields=id&clip=3')).json
    const { value: event } = await store.conversation('a').events()[Symbol.asyncIterator]().next()
    expect(without).toEqual({ last: 8, next: 1, items: [{ position: 0, id: event.id }] })
  })

  test('are told to be the same until something is written', async () => {
    const { ask, store } = await listing()
    const path = 'conversations/a/events?limit=2'
    const { headers } = await ask(path)
    const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
    expect((await ask(path, known)).status).toBe(304)
    expect((await ask(`${path}&direction=backward`, known)).status).toBe(200)
    expect((await ask(`${path}&fields=id`, known)).status).toBe(200)
    await store.conversation('a').append({ role: 'assistant', content: 'More.' })
    expect(await ask(path, known)).toMatchObject({ status: 200, json: { last: 9 } })
  })
})
