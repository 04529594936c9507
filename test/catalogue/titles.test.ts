import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FindPage, openStore, type Store } from '../../src/index.ts'
import { notesStreamOf } from '../../src/events/ids.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { stores, temporaryFolder } from '../support/stores.ts'
import { write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

const open = async (source: Parameters<typeof openStore>[0]): Promise<Store> => {
  const store = await openStore(source)
  atEnd(store.close)
  return store
}

/** Conversations `c0` …, each step one of: another one, a fork, a title, more words. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('begin' as const) }),
    fc.record({ kind: fc.constant('fork' as const), of: fc.nat(), at: fc.nat(3) }),
    fc.record({
      kind: fc.constant('title' as const),
      of: fc.nat(),
      as: fc.constantFrom('title', 'title', 'test/remark'),
      text: fc.constantFrom('Mend the PARSER', 'The lexer, Σίσυφος', 'Parser and lexer "title"'),
    }),
    fc.record({ kind: fc.constant('say' as const), of: fc.nat() }),
  ),
  { minLength: 1, maxLength: 14 },
)
type Step = typeof steps extends fc.Arbitrary<readonly (infer S)[]> ? S : never

const does = async (store: Store, ids: string[], step: Step): Promise<void> => {
  const id = `c${ids.length}`
  const of = store.conversation(ids['of' in step ? step.of % Math.max(1, ids.length) : 0] ?? id)
  const hello = { role: 'user', content: 'Hello.' } as const
  if (step.kind === 'begin' || ids.length === 0) {
    await store.conversation(id).append(hello)
    ids.push(id)
  } else if (step.kind === 'fork') {
    await of.fork(id, { at: Math.min(step.at, await of.position()) })
    ids.push(id)
  } else if (step.kind === 'title') await of.note({ kind: step.as, data: step.text })
  else await of.append(hello)
}

/** The title of a conversation, by reading all notes. */
const titleOf = async (store: Store, id: string) =>
  (await store.conversation(id).notes({ kind: 'title', last: 1 }))[0]

describe.each([
  ['memory', 25],
  ['sqlite', 8],
  ['eventstoredb', 4],
] as const)('on %s,', (name, numRuns) => {
  test('a search finds the conversations whose title has the text, as a reading of all notes does', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(14), async (all, when) => {
        const store = await open(await (stores[name] as (typeof stores)[string])())
        const ids: string[] = []
        for (const [index, step] of all.entries()) {
          if (index === when) await store.catalogue.search('parser')
          await does(store, ids, step)
        }
        for (const wanted of ['PARSER', 'lexer', 'σίσυφοσ', 'nothing']) {
          const own: string[] = []
          for (const id of ids) {
            const title = await titleOf(store, id)
            const folded = String(title?.data).toLowerCase().replaceAll('ς', 'σ')
            const isFound = title !== undefined && folded.includes(wanted.toLowerCase())
            if (isFound && title.conversation === id) own.push(id)
            const { titles } = await store.catalogue.search(wanted, { conversation: id })
            expect(titles).toMatchObject(isFound ? [{ conversation: id, time: title.metadata.time }] : [])
          }
          const { titles, items, isComplete } = await store.catalogue.search(wanted)
          expect({
            found: titles.map(({ conversation }) => conversation).toSorted(),
            items,
            isComplete,
          }).toEqual({
            found: own.toSorted(),
            items: [],
            isComplete: true,
          })
          const { items: listed, matching }: FindPage = await store.catalogue.find({ q: wanted })
          expect([listed.map(({ id }) => id).toSorted(), matching]).toEqual([own.toSorted(), own.length])
        }
      }),
      { numRuns: runs(numRuns) },
    )
  })
})

describe('a title', () => {
  test('is found with the text around it, the one noted last first, and on the first page alone', async () => {
    const store = await open('memory:')
    for (const [id, title] of Object.entries({ a: 'Mend the parser', b: 'No parser at all', c: 'Docs' })) {
      await store.conversation(id).append({ role: 'user', content: 'The parser.' })
      await store.conversation(id).note({ kind: 'title', data: title })
    }
    const first = await store.catalogue.search('PARSER', { limit: 1 })
    expect(first.titles).toMatchObject([
      { conversation: 'b', excerpt: { before: 'No ', match: 'parser', after: ' at all' } },
    ])
    const { cursor = first.next } = {}
    expect(await store.catalogue.search('PARSER', { cursor })).toMatchObject({ titles: [] })
    const { titles } = await store.catalogue.search('PARSER')
    expect(titles.map(({ conversation }) => conversation)).toEqual(['b', 'a'])
  })

  test('that cannot be read is left out, and holds up nobody', async () => {
    const store = memoryStore()
    await write(store, 'a', [user('Hello.')])
    const damaged = { id: 'x', type: 'Noted', data: '{"kind":"title"', metadata: '{}' }
    right(await store.append({ stream: notesStreamOf('a'), expected: -1, events: [damaged] })())
    await write(store, 'b', [user('Hello there.')])
    const catalogue = catalogueOf(store, undefined)
    atEnd(catalogue.close)
    expect(right(await catalogue.search('hello there')())).toMatchObject({
      titles: [],
      items: [{ conversation: 'b' }],
      isComplete: true,
    })
  })

  test('is found by who opens the index next', async () => {
    const store = memoryStore()
    const [place, titled] = [`${temporaryFolder()}/x-index`, await open(store)]
    const found = async () => {
      const catalogue = catalogueOf(store, place)
      const page = right(await catalogue.search('parser')())
      await catalogue.close()
      return page.titles.map(({ excerpt }) => excerpt.after)
    }
    await titled.conversation('a').append({ role: 'user', content: 'Hello.' })
    expect(await found()).toEqual([])
    for (const after of [' one', ' two']) {
      await titled.conversation('a').note({ kind: 'title', data: `parser${after}` })
      expect(await found()).toEqual([after])
    }
  })
})
