import { constants } from 'node:buffer'
import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it, vi } from 'vitest'
import { decode, encode, hashOf, mostText, type StoredEvent } from '../../src/events/codec.ts'
import type { Event } from '../../src/events/events.ts'
import { currentSchema, type Upcaster, upcast } from '../../src/events/upcast.ts'
import { user } from '../support/log.ts'

const metadata = { time: '2026-01-01T00:00:00.000Z', actor: { kind: 'user' }, commandId: 'c', prev: null }
const place = { stream: 'conversation-a', revision: 3, position: 5 }
const stored: StoredEvent = {
  id: 'id',
  type: 'MessageAppended',
  data: '{"role":"user","content":[]}',
  metadata: JSON.stringify({ schema: 1, ...metadata }),
}

describe('encode', () => {
  it('writes the current schema version into the metadata, after a salt', () => {
    const salt = 'AbCdEfGhIjKlMnOpQrSt_-'
    const rest = stored.metadata.slice(1)
    expect(encode(user('x'), 'id', { ...metadata, salt })).toMatchObject({
      right: { metadata: `{"salt":"${salt}",${rest}` },
    })
    expect(currentSchema).toBe(1)
  })

  it('writes another salt into each event', () => {
    const saltOf = (): unknown =>
      E.match(
        String,
        ({ metadata: text }: StoredEvent) => JSON.parse(text).salt,
      )(encode(user('x'), 'id', metadata))
    const salts = Array.from({ length: 1_000 }, saltOf)
    expect(new Set(salts).size).toBe(1_000)
    for (const salt of salts) expect(salt).toMatch(/^[\w-]{22}$/)
  })

  it('refuses a salt that is not 16 bytes', () => {
    expect(encode(user('x'), 'id', { ...metadata, salt: 'short' })).toMatchObject({
      left: { _tag: 'InvalidInput', path: 'salt' },
    })
  })

  it('writes nothing that could not be read: data and metadata are checked', () => {
    expect(encode({ type: 'Rewound', data: { to: -2 } }, 'id', metadata)).toMatchObject({
      left: { _tag: 'InvalidInput', path: 'to' },
    })
    expect(encode(user('x'), 'id', { ...metadata, commandId: '' })).toMatchObject({
      left: { _tag: 'InvalidInput', path: 'commandId' },
    })
    expect(E.isRight(encode({ type: 'Configured', data: {} }, 'id', metadata))).toBe(true)
  })

  it('refuses an event whose JSON is longer than a string can be, and lets other errors pass', () => {
    const failing = (error: Error): Event => {
      const toJSON = (): never => {
        throw error
      }
      return user([{ type: 'x', toJSON }])
    }
    expect(encode(failing(new RangeError('Invalid string length')), 'id', metadata)).toMatchObject({
      left: {
        _tag: 'EventTooLarge',
        bytes: Infinity,
        limit: constants.MAX_STRING_LENGTH,
        message: expect.stringMatching(/longer than a string can be \(512 MiB\)\. Split/),
      },
    })
    expect(() => encode(failing(new Error('broken')), 'id', metadata)).toThrow('broken')
  })
})

describe('decode', () => {
  it('reads what was stored, at the place it stands', () => {
    expect(decode(stored, place)).toMatchObject({
      right: { position: 5, id: 'id', data: { role: 'user', content: [] } },
    })
  })

  it('reads a rewind to an earlier position', () => {
    const rewound = { ...stored, type: 'Rewound', data: '{"to":4}' }
    expect(decode(rewound, place)).toMatchObject({ right: { type: 'Rewound', data: { to: 4 } } })
  })

  it.each<readonly [string, Partial<StoredEvent>, RegExp]>([
    ['a rewind to itself', { type: 'Rewound', data: '{"to":5}' }, /rewinds to itself/],
    ['a rewind to what comes after it', { type: 'Rewound', data: '{"to":6}' }, /to a later position/],
    ['data that is not JSON', { data: '{' }, /not JSON/],
    ['metadata that is not JSON', { metadata: '' }, /not JSON/],
    ['metadata of another shape', { metadata: '{}' }, /metadata/],
    [
      'a newer schema version',
      { metadata: JSON.stringify({ ...metadata, schema: 2 }) },
      /version is 2.*upgrade/,
    ],
    ['an event type that is not known', { type: 'Shredded' }, /event type.*upgrade/],
    ['an event type that every object has', { type: 'toString' }, /event type/],
    ['data of another shape', { data: '{"role":"tool","content":[]}' }, /data: role/],
    [
      'sealed data',
      { data: '{"role":"user","content":[],"sealed":{}}' },
      /sealed: open the store with its keys/,
    ],
  ])('stops at %s and names stream and revision', (_, change, problem) => {
    const failed = decode({ ...stored, ...change }, place)
    expect(failed).toMatchObject({ left: { _tag: 'DecodeFailed', stream: 'conversation-a', revision: 3 } })
    expect(E.isLeft(failed) && failed.left.message).toMatch(problem)
    expect(E.isLeft(failed) && failed.left.message).toContain('conversation-a')
  })
})

describe('the text of an event', () => {
  const half = 'x'.repeat(mostText / 2)
  const encoded = (input: unknown) => {
    const call = { type: 'tool_use' as const, id: 't', name: 'write', input }
    const event = { type: 'MessageAppended' as const, data: { role: 'assistant' as const, content: [call] } }
    return encode(event, 'id', metadata)
  }

  it('is refused where it is more than an event takes, wherever it is, before it is written as JSON', () => {
    const stringify = vi.spyOn(JSON, 'stringify')
    const refused = encoded({ files: [half, { text: half }, 'and this'] })
    const texts = stringify.mock.calls.length
    vi.restoreAllMocks()
    expect(refused).toMatchObject({ left: { _tag: 'EventTooLarge', limit: mostText } })
    expect(texts).toBe(0)
  })

  it('is counted to an end where a value contains itself', () => {
    const input: { self?: unknown } = {}
    input.self = { input }
    expect(() => encoded(input)).toThrow(/circular/)
  })
})

describe('a hash', () => {
  it('is another one for every other id, type, data or metadata', () => {
    const changes = [{ id: 'x' }, { type: 'x' }, { data: '{}' }, { metadata: '{}' }]
    expect(new Set([stored, ...changes.map((change) => ({ ...stored, ...change }))].map(hashOf)).size).toBe(5)
    expect(hashOf(stored)).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each([
    ['a short text', 'x'],
    ['a long text, which is hashed in pieces', 'x'.repeat(3_000_000)],
    ['one of surrogate pairs', `x${'😀'.repeat(1_500_000)}`],
    ['one of escapes', JSON.stringify('"\\\n\u0001'.repeat(500_000))],
  ])('of %s is SHA-256 of the four texts, a newline between each two', (_, data) => {
    const expected = hash('sha256', `id\nMessageAppended\n${data}\n${stored.metadata}`)
    expect(hashOf({ ...stored, data })).toBe(expected)
  })
})

describe('upcast', () => {
  const renamed: Upcaster = ({ type, data }) => ({ type: type === 'Old' ? 'New' : type, data })
  const added: Upcaster = ({ type, data }) => ({ type, data: { ...(data as object), added: true } })

  it('takes an event through every step from its version on, in order', () => {
    expect(upcast('Old', { a: 1 }, 1, [renamed, added])).toEqual({ type: 'New', data: { a: 1, added: true } })
    expect(upcast('Old', { a: 1 }, 2, [renamed, added])).toEqual({ type: 'Old', data: { a: 1, added: true } })
  })

  it('returns an event of the newest version as it is', () => {
    const data = { a: 1 }
    expect(upcast('Old', data, 3, [renamed, added]).data).toBe(data)
    expect(upcast('MessageAppended', data, 1).data).toBe(data)
  })
})
