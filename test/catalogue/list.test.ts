import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { catalogueOf as impatient, type OwnCatalogue } from '../../src/catalogue/catalogue.ts'
import type { FindFilter } from '../../src/catalogue/port.ts'
import type { AllRange } from '../../src/store/port.ts'
import { isUnproven } from '../../src/agent/receipts/calls.ts'
import { textsOf } from '../../src/projections/excerpts.ts'
import { traitNames } from '../../src/catalogue/traits.ts'
import type { Log } from '../../src/projections/path.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { outlineBy } from '../support/catalogue/model.ts'
import { left, right } from '../support/either.ts'
import { histories } from '../support/histories.ts'
import { assistant, condensed, configured, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

/** Every conversation that is found, page by page, and what the first page says of their number. */
const allOf = async (catalogue: OwnCatalogue, options: FindFilter) => {
  const items = []
  let first
  for (let cursor: string | undefined; ;) {
    const page = right(await catalogue.find({ ...options, cursor })())
    first ??= page
    expect(page.isComplete).toBe(true)
    expect(page.items.length).toBeLessThanOrEqual(options.limit ?? 50)
    items.push(...page.items)
    cursor = page.next
    if (cursor === undefined)
      return { items, ids: items.map(({ id }) => id), total: first.total, matching: first.matching }
  }
}

const letters = { C: 'condensed', T: 'truncated', W: 'rewound', R: 'restored' } as const
/** What has happened in a log. */
const hasIn = ({ kinds }: { readonly kinds: string }): readonly string[] =>
  traitNames.filter((name) => kinds.split('').some((kind) => letters[kind as 'C'] === name))

/** Counts the marks of each kind. */
const marksOf = ({ kinds }: { readonly kinds: string }): Record<string, number> =>
  Object.fromEntries(
    Object.entries(letters).flatMap(([letter, name]) => {
      const count = kinds.split(letter).length - 1
      return count > 0 ? [[name, count]] : []
    }),
  )

test('the list has of each conversation what its log says, under every filter and in every order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(histories(30), { minLength: 1, maxLength: 8 }),
      fc.subarray(traitNames, { maxLength: 2 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom('begun', 'newest', 'tokens', 'id', 'updated', 'activity'),
      fc.tuple(fc.nat(), fc.nat()),
      async (logs, has, limit, order, [which, where]) => {
        const store = memoryStore()
        const named = logs.flatMap((log, n): readonly { readonly id: string; readonly log: Log }[] =>
          log.length > 0 ? [{ id: `c${(n * 5) % 8}`, log }] : [],
        )
        for (const { id, log } of named) await write(store, id, log)
        const catalogue = catalogueOf(store, undefined)
        const known = named.map(({ id, log }, n) => ({
          id,
          n,
          log,
          outline: { ...outlineBy(log), tokens: [] as readonly number[] },
        }))
        for (const one of known) one.outline.tokens = right(await catalogue.outline(one.id)()).tokens
        const { items, total, matching } = await allOf(catalogue, { has, limit, order })
        const expected = known.filter(({ outline }) => has.every((one) => hasIn(outline).includes(one)))
        const tokensIn = ({ outline }: (typeof known)[number]): number => outline.tokens.at(-1) ?? 0
        const sorted = expected.toSorted((one, other) => {
          if (order === 'id') return one.id < other.id ? -1 : 1
          return (order === 'tokens' ? tokensIn(other) - tokensIn(one) : 0) || other.n - one.n
        })
        expect(items.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id))
        expect([total, matching]).toEqual([known.length, expected.length])
        for (const [index, { outline, ...one }] of sorted.entries()) {
          const item = items[index]
          expect(item).toMatchObject({
            tokens: tokensIn({ ...one, outline }),
            has: hasIn(outline),
            calls: outline.calls.length,
            replies: outline.calls.length + one.log.filter(isUnproven).length,
            marks: marksOf(outline),
          })
          expect(item?.curveMarks).toHaveLength(item?.curve.length ?? -1)
          const kinds = new Set(outline.kinds)
          for (const letter of item?.curveMarks.replaceAll('-', '') ?? '') expect(kinds).toContain(letter)
          expect(item?.curve).toHaveLength(Math.min(32, outline.tokens.length))
          expect(item?.curve.at(-1)).toBe(outline.tokens.at(-1))
          expect(outline.tokens).toEqual(expect.arrayContaining([...(item?.curve ?? [])]))
        }
        const texts = known
          .flatMap(({ log }) => log.flatMap(textsOf))
          .filter((text) => /^[ -~]{3,}$/.test(text))
        const text = texts[which % Math.max(1, texts.length)] ?? 'nothing'
        const q = text.slice(where % Math.max(1, text.length - 2)).slice(0, 9)
        if (q.length >= 3) {
          const { ids } = await allOf(catalogue, { q, limit })
          const having = known.filter(({ log }) =>
            log.flatMap(textsOf).some((said) => said.toLowerCase().includes(q.toLowerCase())),
          )
          expect(ids).toEqual(having.map(({ id }) => id).toReversed())
        }
        await catalogue.close()
      },
    ),
    { numRuns: runs(60) },
  )
})

describe('a conversation is found', () => {
  const cataloguing = async () => {
    const store = memoryStore()
    await write(store, 'parser-1', [user('Close the strings.'), assistant('Done.', { model: 'm-1' })])
    await write(store, 'docs-2', [
      configured({ model: 'm-2' }),
      user('Write of the parser.'),
      condensed(1, 1),
    ])
    const from = { conversation: 'docs-2', position: 2, hash: 'h' }
    await write(store, 'docs-3', [{ type: 'Forked', data: { from } }, user('Shorter.')])
    const catalogue = catalogueOf(store, undefined)
    atEnd(catalogue.close)
    return catalogue
  }
  test.each<readonly [string, FindFilter, readonly string[]]>([
    ['by a part of its id, and by what was said in it', { q: 'PARSER' }, ['docs-2', 'parser-1']],
    ['by a part of its id that no text could be', { q: '-3' }, ['docs-3']],
    ['by the beginning of its id', { beginning: 'docs' }, ['docs-3', 'docs-2']],
    ['by a model that answered', { model: 'm-1' }, ['parser-1']],
    ['by a model that was configured', { model: 'm-2' }, ['docs-2']],
    ['by who wrote in it', { actor: 'test' }, ['docs-3', 'docs-2', 'parser-1']],
    ['not by who did not', { actor: 'ann' }, []],
    ['by what it inherited', { has: ['condensed'] }, ['docs-3', 'docs-2']],
    ['as a fork', { has: ['condensed', 'forked'] }, ['docs-3']],
    ['by several at once', { q: 'short', beginning: 'd', has: ['forked'] }, ['docs-3']],
  ])('%s', async (_, options, ids) => {
    const catalogue = await cataloguing()
    for (const limit of [1, 50]) expect((await allOf(catalogue, { ...options, limit })).ids).toEqual(ids)
  })

  test('only with a cursor of the same list', async () => {
    const catalogue = await cataloguing()
    const { next } = right(await catalogue.find({ limit: 1 })())
    for (const options of [{ cursor: 'x' }, { cursor: next, order: 'id' as const }])
      expect(left(await catalogue.find(options)())).toMatchObject({ _tag: 'InvalidInput', path: 'cursor' })
    expect(left(await catalogue.find({ has: ['erased' as 'forked'] })())).toMatchObject({ path: 'has' })
  })
})

test('by activity, each conversation is listed once where it was when paging began, whatever is written meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(5), { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.array(fc.tuple(fc.nat(11), fc.nat(9)), { maxLength: 4 }), { maxLength: 9 }),
      async (times, limit, writes) => {
        const store = await openStore('memory:')
        const said = async (id: string, second: number): Promise<void> => {
          const now = new Date(Date.UTC(2026, 0, 1, 0, 0, second))
          await store.conversation(id).append({ role: 'user', content: 'Go on.' }, { now })
        }
        for (const [n, second] of times.entries()) await said(`c${n}`, second)
        const expected = times
          .map((second, n) => ({ id: `c${n}`, n, second }))
          .toSorted((a, b) => b.second - a.second || b.n - a.n)
          .map(({ id }) => id)
        const ids: string[] = []
        for (let cursor: string | undefined, pages = 0; ; pages++) {
          const found = await store.catalogue.find({ limit, cursor })
          ids.push(...found.items.map(({ id }) => id))
          cursor = found.next
          if (cursor === undefined) break
          // Of those that are listed already and of others, earlier and later than what they had; some are new.
          for (const [n, second] of writes[pages] ?? []) await said(`c${n}`, second)
        }
        expect(ids.filter((id) => expected.includes(id))).toEqual(expected)
        expect(new Set(ids).size).toBe(ids.length)
        await store.close()
      },
    ),
    { numRuns: runs(150) },
  )
})

test('of a store are listed by activity, which an import takes from its file, each once', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const said = (id: string, now?: Date) =>
    store.conversation(id).append({ role: 'user', content: 'Hi.' }, { now })
  await said('first')
  await said('old', new Date('2020-01-01T00:00:00Z'))
  await said('older', new Date('2019-01-01T00:00:00Z'))
  const idsBy = async (sort?: 'activity' | 'begun' | 'id'): Promise<readonly string[]> => {
    const ids: string[] = []
    for await (const { id } of store.conversations({ sort })) {
      // It moves while the list is read.
      if (sort === 'activity' && ids.push(id) === 1) await said('older')
      else if (sort !== 'activity') ids.push(id)
    }
    return ids
  }
  expect(await idsBy('begun')).toEqual(['older', 'old', 'first'])
  expect(await idsBy()).toEqual(await idsBy('begun'))
  expect(await idsBy('activity')).toEqual(['first', 'old', 'older'])
  expect(await idsBy('activity')).toEqual(['older', 'first', 'old'])
})

test('an answer of an index that is behind has no number of conversations, and says how far it is, and how far the store', async () => {
  const store = memoryStore()
  for (let n = 0; n < 300; n++) await write(store, `c${n}`, [user(`The word ${n}.`)])
  const whole = right(await store.readAll({ limit: 1_000 })()).events
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let pages = 0
  const slow = {
    ...store,
    readAll: (range: AllRange) => async () => {
      if (range.limit > 1 && pages++ > 0) await held
      return store.readAll(range)()
    },
  }
  const catalogue = impatient(slow, undefined)
  atEnd(() => {
    release()
    return catalogue.close()
  })
  for (const options of [{}, { q: 'word 2' }]) {
    const partial = right(await catalogue.find(options)())
    expect(partial).toMatchObject({ isComplete: false, last: whole.at(-1)?.checkpoint })
    expect(partial).not.toHaveProperty('total')
    expect(partial).not.toHaveProperty('matching')
    const rest = right(await store.readAll({ after: partial.indexed ?? '', limit: 1_000 })()).events
    expect(rest.length).toBeGreaterThan(0)
    const unknown = new Set(rest.map(({ stream }) => stream.slice('conversation-'.length)))
    expect(partial.items.filter(({ id }) => unknown.has(id))).toEqual([])
  }
  // It continues by itself.
  release()
  const last = whole.at(-1)?.checkpoint
  const find = catalogue.find({ q: 'word 2', limit: 200 })
  let answer = right(await find())
  while (!answer.isComplete) answer = right(await find())
  expect(answer).toMatchObject({ isComplete: true, total: 300, matching: 111, indexed: last, last })
})

test('an answer of an index that is behind does not wait for a store that does not say how far it goes', async () => {
  const never = () => new Promise<never>(() => undefined)
  const store = memoryStore()
  await write(store, 'c', [user('Hello.')])
  const catalogue = impatient({ ...store, readAll: () => never, changed: () => never }, undefined)
  expect(right(await catalogue.find()())).toEqual({ isComplete: false, items: [] })
})

test('a text that was said nearly everywhere is found wherever it was said, a page at a time', async () => {
  const store = memoryStore()
  const said: string[] = []
  for (let n = 0; n < 1_300; n++) {
    await write(store, `c${n}`, [user(n % 10 === 3 ? 'Something else.' : 'The common word.')])
    if (n % 10 !== 3) said.push(`c${n}`)
  }
  const catalogue = catalogueOf(store, undefined)
  atEnd(catalogue.close)
  const found = await allOf(catalogue, { q: 'common WORD', order: 'begun', limit: 400 })
  expect(found.ids).toEqual(said.toReversed())
})
