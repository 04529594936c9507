import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encode } from '../../src/events/codec.ts'
import { type Metadata, metadataSchema } from '../../src/events/events.ts'
import { ownMetadata, ownTime } from '../../src/events/own-metadata.ts'
import { runs } from '../support/runs.ts'

const metadata: Metadata = {
  salt: 'AbCdEfGhIjKlMnOpQrSt_-',
  schema: 1,
  time: '2026-01-31T12:00:00.000Z',
  actor: { kind: 'agent', id: 'a-1' },
  commandId: '285935de-759c-4bc8-8836-a79fffc92ae7',
  $correlationId: 'c',
  $causationId: 'd',
  prev: '20ae0f83',
}

/** What the parser and the schema say: the metadata, or undefined. */
const slowly = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return metadataSchema.safeParse(value).success ? value : undefined
  } catch {
    return undefined
  }
}

/** What is read must be the same, the order of its fields included; what is not recognised is left to the slow way. */
const expectSame = (text: string): void => {
  const own = ownMetadata(text)
  if (own !== undefined) expect([text, JSON.stringify(own)]).toEqual([text, JSON.stringify(slowly(text))])
  if (own !== undefined) expect(own).toStrictEqual(slowly(text))
  const { schema, time } = ownTime(text) ?? {}
  expect([text, schema, time]).toEqual([text, own?.schema, own?.time])
}

const damages = (text: string, at: number, character: string): readonly string[] => [
  text.slice(0, at) + text.slice(at + 1),
  text.slice(0, at) + character + text.slice(at + 1),
  text.slice(0, at) + character + text.slice(at),
  text.slice(0, at) + text.slice(at, at + 1) + text.slice(at),
  text.slice(0, at),
  text.slice(at),
]
const telling = [
  '"',
  '\\',
  '{',
  '}',
  ',',
  ':',
  '0',
  '9',
  ' ',
  '\n',
  '\0',
  '\u{7f}',
  '\u{2028}',
  '\ud800',
  'é',
]

const text = fc.string({ unit: 'binary', maxLength: 6 })
const plain = fc.string({
  unit: fc.constantFrom('a', 'Z', '7', '-', '.', ':', ' ', 'ü', '漢', '🙂'),
  minLength: 1,
})
const salts = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'))
const madeOf = (strings: fc.Arbitrary<string>): fc.Arbitrary<Metadata> =>
  fc.record(
    {
      salt: salts,
      schema: fc.constant(1),
      time: fc
        .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
        .map((date) => date.toISOString()),
      actor: fc.record({ kind: strings, id: strings }, { requiredKeys: ['kind'] }),
      commandId: strings,
      $correlationId: strings,
      $causationId: strings,
      workspace: fc.record(
        {
          kind: fc.constant('git'),
          commit: fc.string({
            unit: fc.constantFrom(...'0123456789abcdef'.split('')),
            minLength: 7,
            maxLength: 64,
          }),
          dirty: fc.constant(true),
        },
        { requiredKeys: ['kind', 'commit'] },
      ),
      prev: fc.option(strings),
    },
    { requiredKeys: ['schema', 'time', 'actor', 'commandId', 'prev'] },
  )

const storedText = (given: Metadata): string | undefined => {
  const stored = encode(
    {
      type: 'Truncated',
      data: { covers: { first: 0, last: 0 }, messagesHidden: 1, tokens: { before: 1, after: 0 } },
    },
    'id',
    given,
  )
  return E.isRight(stored) ? stored.right.metadata : undefined
}

describe('metadata recognised without a parser', () => {
  it('is what is written, where no text needs an escape', () => {
    fc.assert(
      fc.property(madeOf(plain), (given) => {
        const own = ownMetadata(storedText(given) ?? '')
        expect(own).toMatchObject(given)
        expect(own?.salt).toMatch(/^[\w-]{22}$/)
      }),
      { numRuns: runs(300) },
    )
  })

  it('is what the parser and the schema read, whatever its texts are', () => {
    fc.assert(
      fc.property(madeOf(text), (given) => {
        expectSame(JSON.stringify(given))
        const stored = storedText(given)
        if (stored !== undefined) expectSame(stored)
      }),
      { numRuns: runs(300) },
    )
  })

  it('is that, or nothing, wherever a character of it is lost, changed, added or repeated', () => {
    const { schema, time, actor, commandId } = metadata
    const workspace = { kind: 'git', commit: '3f2a1c4', dirty: true }
    const first = { schema, time, actor, commandId, workspace, prev: null }
    let recognised = 0
    for (const whole of [metadata, first].map((one) => JSON.stringify(one)))
      for (let at = 0; at <= whole.length; at++)
        for (const character of telling)
          for (const damaged of damages(whole, at, character)) {
            expectSame(damaged)
            if (ownMetadata(damaged) !== undefined) recognised++
          }
    // Much of what is changed is still metadata.
    expect(recognised).toBeGreaterThan(1_000)
  })

  it('is nothing with fields of other programs, in another order or of another kind', () => {
    const { prev, ...rest } = metadata
    const others = [
      { prev, ...rest },
      { ...metadata, more: 1 },
      { ...metadata, sealed: true },
      { ...metadata, schema: 1.5 },
      { ...metadata, schema: -1 },
      { ...metadata, prev: 7 },
      { ...metadata, actor: {} },
      { ...metadata, actor: { kind: 'a', id: null } },
      { ...metadata, time: '2026-01-31T12:00:00Z' },
      { ...metadata, commandId: '' },
    ]
    for (const other of others) expect(ownMetadata(JSON.stringify(other))).toBeUndefined()
  })
})
