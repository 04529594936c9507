import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { blockSchema } from '../../src/events/blocks.ts'
import { check, checkJson } from '../../src/events/check.ts'
import { isMarker } from '../../src/events/event-traits.ts'
import {
  contentOf,
  dataSchemas,
  type Event,
  type EventType,
  messageSchema,
  metadataSchema,
} from '../../src/events/events.ts'
import {
  conversationIdSchema,
  conversationOf,
  eventId,
  isConversationId,
  newCommandId,
  streamOf,
} from '../../src/events/ids.ts'
import { assistant, condensed, configured, restored, rewound, text, truncated } from '../support/log.ts'

const message = (block: unknown): unknown => ({ role: 'user', content: [block] })

describe('what is given is what is kept', () => {
  it('unknown blocks and unknown fields included', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (fields, value) => {
        const given = {
          ...(message({ future: value, ...fields, type: 'block_of_the_future' }) as object),
          ...fields,
          role: 'user',
        }
        const whole = { ...given, content: [{ future: value, ...fields, type: 'block_of_the_future' }] }
        const kept = checkJson(messageSchema, whole)
        expect(isDeepStrictEqual(kept, E.right(JSON.parse(JSON.stringify(whole))))).toBe(true)
      }),
    )
  })

  it('but for -0, which JSON has no text for', () => {
    expect(checkJson(messageSchema, message({ type: 'x', value: -0 }))).toEqual(
      E.right(message({ type: 'x', value: 0 })),
    )
  })

  it('a __proto__ key as well, which does no harm', () => {
    const given: unknown = JSON.parse(
      '{"role":"user","content":[{"type":"x","__proto__":{"polluted":1}}],"__proto__":{"role":"z"}}',
    )
    const kept = checkJson(messageSchema, given)
    expect(JSON.stringify(E.isRight(kept) && kept.right)).toBe(JSON.stringify(given))
    expect('polluted' in {}).toBe(false)
  })

  it('lone surrogates as well', () => {
    const kept = checkJson(messageSchema, message(text('half \ud83d')))
    expect(kept).toEqual(E.right(message(text('half \ud83d'))))
  })

  it('and shares nothing with what was given', () => {
    const block = text('before')
    const kept = checkJson(messageSchema, message(block))
    Object.assign(block, { text: 'after' })
    expect(kept).toEqual(E.right(message(text('before'))))
  })

  it('a property that is undefined is left out', () => {
    expect(checkJson(messageSchema, message({ ...text('x'), citations: undefined }))).toEqual(
      E.right(message(text('x'))),
    )
  })
})

const cycle: Record<string, unknown> = { type: 'x' }
cycle['self'] = [cycle]
const deep = Array.from({ length: 2_000 }).reduce<unknown>((inner) => [inner], 1)

describe('what JSON cannot hold is refused, with the place', () => {
  it.each<readonly [string, unknown, string]>([
    ['a number that is not finite', { type: 'x', n: Number.NaN }, 'content[0].n'],
    ['an infinite number', { type: 'x', list: [1, Infinity] }, 'content[0].list[1]'],
    ['a BigInt', { type: 'x', input: { n: 1n } }, 'content[0].input.n'],
    ['a function', { type: 'x', f: () => 1 }, 'content[0].f'],
    ['a symbol', { type: 'x', s: Symbol('s') }, 'content[0].s'],
    ['a Map', { type: 'x', map: new Map() }, 'content[0].map'],
    ['a Date', { type: 'x', date: new Date() }, 'content[0].date'],
    ['a cycle', cycle, 'content[0].self[0]'],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
    ['a hole in an array', { type: 'x', list: [1, , 2] }, 'content[0].list[1]'],
  ])('%s', (_, block, path) => {
    const kept = checkJson(messageSchema, message(block))
    expect(kept).toMatchObject({ _tag: 'Left', left: { _tag: 'InvalidInput', path } })
    expect(E.isLeft(kept) && kept.left.message).toContain(path)
  })

  it('a value that is nested deeper than a thousand levels', () => {
    expect(checkJson(messageSchema, message({ type: 'x', deep }))).toMatchObject({
      left: { _tag: 'InvalidInput' },
    })
  })
})

describe('a block of a known type has its fields', () => {
  it.each([
    { type: 'text' },
    { type: 'text', text: 1 },
    { type: 'thinking', thinking: 'hm', signature: 1 },
    { type: 'redacted_thinking' },
    { type: 'tool_use', id: 'a', name: 'run' },
    { type: 'tool_use', id: '', name: 'run', input: {} },
    { type: 'tool_use', id: 'a', input: {} },
    { type: 'tool_result' },
    { type: 'tool_result', tool_use_id: 'a', content: 1 },
    { type: 'tool_result', tool_use_id: 'a', content: [{ text: 'no type' }] },
    { type: 'tool_result', tool_use_id: 'a', is_error: 'yes' },
    { type: 'image' },
    { type: 'document', source: {} },
    { type: '' },
    { text: 'no type' },
    null,
  ])('%j is refused', (block) => {
    expect(E.isLeft(check(blockSchema, block))).toBe(true)
  })

  it.each([
    text(''),
    { type: 'thinking', thinking: '' },
    { type: 'tool_use', id: 'any id', name: 'run', input: 'not an object' },
    { type: 'tool_use', id: 'a', name: 'run', input: null },
    { type: 'tool_result', tool_use_id: 'a' },
    { type: 'compaction', content: null },
    { type: 'compaction', encrypted_content: 'e' },
    { type: 'block_of_the_future' },
  ])('%j is stored as it is', (block) => {
    expect(check(blockSchema, block)).toEqual(E.right(block))
  })

  it('and the refusal says where', () => {
    expect(
      checkJson(messageSchema, message({ type: 'tool_result', tool_use_id: 'a', content: [{}] })),
    ).toMatchObject({
      left: { path: 'content[0].content' },
    })
  })

  it('and what is missing', () => {
    expect(check(blockSchema, { type: 'tool_use', id: 'a', name: 'run' })).toMatchObject({
      left: { message: 'input: is required' },
    })
  })

  it('and a value left out is for the schema to judge', () => {
    const problem = 'is missing: it must be an object'
    expect(checkJson(messageSchema, undefined)).toEqual(
      E.left({ _tag: 'InvalidInput', message: problem, path: '' }),
    )
    expect(checkJson(messageSchema.optional(), undefined)).toEqual(E.right(undefined))
  })
})

describe('the data of an event', () => {
  const metadata = {
    schema: 1,
    time: '2026-01-01T00:00:00.000Z',
    actor: { kind: 'user' },
    commandId: 'c',
    prev: null,
  }

  it.each([assistant('x'), condensed(0, 1), truncated(0, 1), restored(0), rewound(-1), configured({})])(
    'of a good $type passes',
    ({ type, data }) => {
      expect(check(dataSchemas[type], data)).toEqual(E.right(data))
    },
  )

  it.each<readonly [EventType, unknown]>([
    ['MessageAppended', { role: 'tool', content: [] }],
    ['MessageAppended', { role: 'user', content: 'text' }],
    ['MessageAppended', { role: 'user', content: [], messageId: '' }],
    ['MessageAppended', { role: 'user', content: [], origin: { model: 1 } }],
    ['MessageAppended', { role: 'user', content: [], origin: { usage: 1 } }],
    ['Condensed', { ...condensed(0, 1).data, summary: [] }],
    ['Condensed', { ...condensed(0, 1).data, method: 'magic' }],
    ['Truncated', { ...truncated(0, 1).data, covers: { first: -1, last: 1 } }],
    ['Truncated', { ...truncated(0, 1).data, messagesHidden: 0.5 }],
    ['Truncated', { ...truncated(0, 1).data, tokens: { before: -1, after: 0 } }],
    ['Truncated', { ...truncated(0, 1).data, view: {} }],
    ['Truncated', { ...truncated(0, 1).data, view: { items: [{ first: 0 }] } }],
    ['Truncated', { ...truncated(0, 1).data, view: { items: [{ marker: -1 }] } }],
    ['Restored', { marker: 0, view: { items: [], restored: [{ after: -1, before: 1 }] } }],
    ['Restored', {}],
    ['Rewound', { to: -2 }],
    ['Configured', { model: '' }],
    ['Configured', { tools: {} }],
    ['Forked', { from: { conversation: 'a b', position: 0, hash: 'h' } }],
  ])('of a %s is refused: %j', (type, data) => {
    expect(E.isLeft(check(dataSchemas[type], data))).toBe(true)
  })

  it.each<readonly [EventType, object]>([
    ['MessageAppended', assistant('x').data],
    ['Condensed', condensed(0, 1).data],
    ['Configured', {}],
  ])('of a %s has no key "sealed": it is reserved', (type, data) => {
    expect(check(dataSchemas[type], { ...data, sealed: {} })).toMatchObject({
      left: { path: 'sealed', message: expect.stringContaining('reserved') },
    })
  })

  it('has metadata with a schema version, a time, an actor, a command and a hash', () => {
    expect(check(metadataSchema, metadata)).toEqual(E.right(metadata))
    const bad = [
      { schema: 0 },
      { time: 'today' },
      { time: ` ${metadata.time}` },
      { time: `${metadata.time} ` },
      { actor: {} },
      { commandId: '' },
      { prev: undefined },
      { sealed: 1 },
    ]
    for (const field of bad) expect(E.isLeft(check(metadataSchema, { ...metadata, ...field }))).toBe(true)
    expect(check(metadataSchema, { ...metadata, time: 'today' })).toMatchObject({
      left: { message: 'time: must be a time such as 2026-01-31T12:00:00.000Z' },
    })
  })
})

describe('an event', () => {
  const said = assistant('x')
  const forked: Event = { type: 'Forked', data: { from: { conversation: 'a', position: 0, hash: 'h' } } }
  const others = [restored(0), rewound(-1), configured({}), forked]

  it('brings the messages that it says: one, a summary, or none', () => {
    expect(contentOf(said)).toEqual([said.data])
    expect(contentOf(condensed(0, 1, 'S.'))).toEqual([{ role: 'user', content: [text('S.')] }])
    expect([truncated(0, 1), ...others].map((event) => contentOf(event))).toEqual([[], [], [], [], []])
  })

  it('is a marker if it hides something', () => {
    expect([condensed(0, 1), truncated(0, 1)].map((event) => isMarker(event))).toEqual([true, true])
    expect([said, ...others].some((event) => isMarker(event))).toBe(false)
  })
})

describe('ids', () => {
  it('of conversations have 1 to 200 characters of a set', () => {
    const right: readonly string[] = ['a', 'A-1._:', 'x'.repeat(200)]
    const wrong: readonly unknown[] = ['', 'x'.repeat(201), 'a b', 'a/b', 'ä', 'a\n', 1, ['a']]
    for (const id of right) expect(conversationIdSchema.safeParse(id).success).toBe(true)
    for (const id of wrong) expect(conversationIdSchema.safeParse(id).success).toBe(false)
    expect([...right, ...wrong].map((id) => isConversationId(id as string))).toEqual([
      ...right.map(() => true),
      ...wrong.map(() => false),
    ])
    expect(check(conversationIdSchema, 'a b')).toMatchObject({
      left: {
        message: 'a conversation id has 1 to 200 characters of A–Z a–z 0–9 . _ : -, and is not . or ..',
      },
    })
  })

  it('of streams begin with conversation-', () => {
    expect(conversationOf(streamOf('task-42'))).toBe('task-42')
    expect(conversationOf('other-42')).toBeUndefined()
  })

  it('of events derive from stream, command and index, for ever', () => {
    expect([0, 1, 2, 3].map((index) => eventId('conversation-a', 'command', index))).toEqual([
      'b3403b7e-65de-5756-8784-7ccd32326c92',
      'a03b29c4-90db-5d4b-88a5-4fcb6e99aa82',
      'f59e9f9a-5138-5510-b67b-4288c5a4ba33',
      '7d0a3910-f018-5c0d-b9b7-371edd29bded',
    ])
    const ids = [
      eventId('conversation-a', 'c', 0),
      eventId('conversation-a', 'c', 1),
      eventId('conversation-b', 'c', 0),
    ]
    expect(new Set(ids).size).toBe(3)
  })

  it('of commands are new each time', () => {
    expect(newCommandId()).not.toBe(newCommandId())
  })
})
