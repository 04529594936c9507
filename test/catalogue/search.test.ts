import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OwnCatalogue } from '../../src/catalogue/catalogue.ts'
import { fold, textsOf } from '../../src/projections/excerpts.ts'
import type { MessageHit } from '../../src/projections/lookups.ts'
import type { Event } from '../../src/events/events.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { foundBy } from '../support/catalogue/model.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { left, right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import {
  assistant,
  condensed,
  configured,
  eventAt,
  restored,
  rewound,
  text,
  thinking,
  toolResult,
  user,
} from '../support/log.ts'
import type { EventStore } from '../../src/store/port.ts'
import { runs } from '../support/runs.ts'
import { stores } from '../support/stores.ts'
import { write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

/** Every hit, page by page. */
const allOf = async (
  catalogue: OwnCatalogue,
  wanted: string,
  { limit = 1_000, conversation }: { readonly limit?: number; readonly conversation?: string } = {},
): Promise<readonly MessageHit[]> => {
  const hits: MessageHit[] = []
  for (let cursor: string | undefined; ;) {
    const page = right(await catalogue.search(wanted, { limit, cursor, conversation })())
    expect(page.isComplete).toBe(true)
    expect(page.items.length).toBeLessThanOrEqual(limit)
    hits.push(...page.items)
    cursor = page.next
    if (cursor === undefined) return hits
  }
}

/** A catalogue in memory of conversations, by id. */
const catalogueWith = async (
  conversations: Readonly<Record<string, readonly Event[]>>,
  store: EventStore = memoryStore(),
) => {
  for (const [id, events] of Object.entries(conversations)) await write(store, id, events)
  const catalogue = catalogueOf(store, undefined)
  atEnd(catalogue.close)
  return { store, catalogue }
}

describe.each([
  ['logs that commands wrote', histories(60), 60],
  ['logs of any events', rawLogs(60), 60],
])('of %s, whole or forked,', (_, logs, numRuns) => {
  test('a search finds what a scan of all texts finds, each with its states as the full history has them', async () => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(
        logs,
        fc.array(fc.nat(200), { maxLength: 3 }),
        fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 3, max: 12 }), fc.boolean()), {
          minLength: 3,
          maxLength: 3,
        }),
        fc.integer({ min: 1, max: 7 }),
        async (any, cuts, queries, limit) => {
          if (any.length === 0) return
          const { store, id, log } = await storedForked(any, cuts)
          const catalogue = catalogueOf(store, undefined)
          const texts = log.flatMap(textsOf).filter((said) => Array.from(said).length >= 3)
          for (const [which, where, length, isUpper] of texts.length > 0 ? queries : []) {
            const from = Array.from(texts[which % texts.length] ?? '')
            const start = where % (from.length - 2)
            const said = from.slice(start, start + length).join('')
            const wanted = isUpper && said.toUpperCase().length === said.length ? said.toUpperCase() : said
            const hits = await allOf(catalogue, wanted, { limit, conversation: id })
            const expected = foundBy(log, wanted)
            expect(hits.map(({ position, now, then }) => ({ position, now, then }))).toEqual(expected)
            for (const { excerpt } of hits) expect(fold(excerpt.match)).toBe(fold(wanted))
            found += hits.length
          }
          await catalogue.close()
        },
      ),
      { numRuns: runs(numRuns) },
    )
    expect(found).toBeGreaterThan(0)
  })
})

describe('a search', () => {
  const talk = [
    user('Why does src/parser.ts fail in line 80?'),
    assistant([
      text('I look.'),
      thinking('s', 'It may be the PARSER.'),
      {
        type: 'tool_use',
        id: 'toolu_01',
        name: 'Read',
        input: { file: 'src/parser.ts', lines: [78, 'to 82'] },
      },
    ]),
    user([toolResult('toolu_01', [text('const open = "'), text('日本語のパーサー')])]),
    condensed(0, 2, 'The parser leaves a string open.'),
    assistant('Line 80 is closed.'),
    user('Σίσυφος says: ÀÉ, İstanbul, ẞ, and nul \0 here'),
    rewound(4),
    user('Thanks.'),
  ]

  test.each([
    ['words, whatever their case', 'THE PARSER', [3, 1]],
    ['a path, also inside of a call', 'src/parser.ts', [1, 0]],
    ['a part of a word', 'arse', [3, 1, 0]],
    ['the name of a tool', 'Read', [1]],
    ['the id of a call, in it and in its result', 'toolu_01', [2, 1]],
    ['text of a result in any script', 'パーサ', [2]],
    ['sigmas, accents and what has no other case', 'ΣΊΣΥΦΟΣ', [5]],
    ['characters that grow in lower case', 'İstan', [5]],
    ['a sharp s in capitals', ', ß, and', [5]],
    ['a NUL for what it is', 'nul \0 here', [5]],
    ['no space for a NUL', 'nul   here', []],
    ['no accent that is not there', 'AE,', []],
    ['nothing over the border of two texts', 'I look.It may', []],
    ['quotes and operators as they are', 'open = "', [2]],
    ['no signatures', 'thinking', []],
  ])('finds %s', async (_, wanted, positions) => {
    const { catalogue } = await catalogueWith({ a: talk })
    const hits = await allOf(catalogue, wanted, { conversation: 'a' })
    expect(hits.map(({ position }) => position)).toEqual(positions)
  })

  test('says where it was found, and whether the model sees that, and saw it then', async () => {
    const { catalogue } = await catalogueWith({ a: [...talk, restored(3)] })
    const [hit] = await allOf(catalogue, 'string open')
    expect(hit).toMatchObject({
      conversation: 'a',
      position: 3,
      kind: 'C',
      excerpt: { before: 'The parser leaves a ', match: 'string open', after: '.' },
      now: { state: 'hidden', by: 8 },
      then: { state: 'shown' },
    })
    const [result] = await allOf(catalogue, '日本語')
    expect(result).toMatchObject({ now: { state: 'shown' }, then: { state: 'hidden', by: 3 } })
    const [left_] = await allOf(catalogue, 'Istanbul'.replace('I', 'İ'))
    expect(left_).toMatchObject({ now: { state: 'abandoned', by: 6 }, then: { state: 'abandoned', by: 6 } })
  })

  test.each(Object.entries(stores))(
    'finds system prompts on %s: in force, replaced or abandoned',
    async (_, create) => {
      const events = await create()
      atEnd(() => events.close()())
      const { catalogue } = await catalogueWith(
        {
          a: [
            configured({ system: 'You mend PARSERS.', tools: [{ name: 'parsers' }], model: 'parsers-1' }),
            user('Hi'),
            assistant('Hello.'),
            configured({ system: [text('You mend parsers and lexers.')] }),
            assistant('Still here.'),
            rewound(2),
            configured({ system: 'No parsers any more.' }),
          ],
        },
        events,
      )
      const hits = await allOf(catalogue, 'parsers', { conversation: 'a' })
      expect(hits.map(({ position, kind, now, then }) => [position, kind, now, then])).toEqual([
        [6, 'K', { state: 'shown' }, { state: 'shown' }],
        [3, 'K', { state: 'abandoned', by: 5 }, { state: 'shown' }],
        [0, 'K', { state: 'hidden', by: 6 }, { state: 'shown' }],
      ])
      expect(hits[1]?.excerpt).toEqual({ before: 'You mend ', match: 'parsers', after: ' and lexers.' })
      expect(await allOf(catalogue, 'lexers')).toMatchObject([{ conversation: 'a', position: 3 }])
    },
  )

  test('of all conversations finds an event once, in the one where it was said', async () => {
    const from = { conversation: 'a', position: 1, hash: 'h' }
    const { catalogue } = await catalogueWith({
      a: talk,
      b: [{ type: 'Forked', data: { from } }, user('And the parser of C?')],
    })
    const said = await allOf(catalogue, 'parser', { limit: 1 })
    expect(said.map(({ conversation, position }) => [conversation, position])).toEqual([
      ['b', 3],
      ['a', 3],
      ['a', 1],
      ['a', 0],
    ])
    const inFork = await allOf(catalogue, 'parser', { conversation: 'b' })
    expect(inFork.map(({ conversation, position }) => [conversation, position])).toEqual([
      ['b', 3],
      ['b', 1],
      ['b', 0],
    ])
    expect(inFork.at(-1)?.now).toEqual({ state: 'shown' })
  })

  test('finds a few among very many, and all of very many', async () => {
    const many = Array.from({ length: 900 }, (_, n) =>
      user(
        `Message ${n} of many, long enough that some of them make a document of their own. ${'-'.repeat(900)}`,
      ),
    )
    const { catalogue } = await catalogueWith({ other: many, a: [user('Message of few')], later: many })
    expect(await allOf(catalogue, 'message', { conversation: 'a' })).toHaveLength(1)
    expect(await allOf(catalogue, 'message 7', { conversation: 'other', limit: 50 })).toHaveLength(111)
    expect(await allOf(catalogue, 'message', { limit: 700 })).toHaveLength(1_801)
    expect(await allOf(catalogue, 'Message of many', { conversation: 'other' })).toHaveLength(0)
  })

  test('needs three characters, and takes no more than 500', async () => {
    const { catalogue } = await catalogueWith({ a: [user(`日本語 and ${'long '.repeat(200)}`)] })
    for (const wanted of ['', 'ab', '日本', 'x'.repeat(501)])
      expect(left(await catalogue.search(wanted)())).toMatchObject({ _tag: 'InvalidInput', path: 'text' })
    expect(await allOf(catalogue, '日本語')).toHaveLength(1)
    expect(await allOf(catalogue, 'long '.repeat(100))).toHaveLength(1)
    expect(left(await catalogue.search('abc', { cursor: 'nonsense' })())).toMatchObject({ path: 'cursor' })
    expect(left(await catalogue.search('abc', { conversation: 'none' })())).toMatchObject({
      _tag: 'ConversationNotFound',
    })
  })
})

test('folding keeps the length of a text, and each character by itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (one, other) => {
      for (const said of [one, other, `${one}İ${other}Σ`]) expect(fold(said)).toHaveLength(said.length)
      expect(fold(`${one} ${other}`)).toBe(`${fold(one)} ${fold(other)}`)
      expect(fold(fold(one))).toBe(fold(one))
    }),
    { numRuns: runs(500) },
  )
})

test('what was said is found, what nobody reads is not', () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo' }
  const said = eventAt(
    user([
      { type: 'image', source },
      { type: 'document', source: { type: 'text', data: 'A file.' }, title: 'T' },
    ]),
    0,
  )
  expect(textsOf(said)).toEqual(['A file.', 'T'])
})
