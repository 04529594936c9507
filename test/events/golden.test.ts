import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { decode, hashOf, type StoredEvent } from '../../src/events/codec.ts'
import { type ConversationEvent, dataSchemas } from '../../src/events/events.ts'

interface Golden {
  readonly stored: StoredEvent
  readonly hash: string
  readonly decoded: ConversationEvent
}

const read = (file: string): readonly Golden[] =>
  JSON.parse(readFileSync(new URL(`../golden/events/${file}`, import.meta.url), 'utf8')) as readonly Golden[]

// Events as the first release wrote them. Never edited: a change that breaks one breaks every store there is.
const golden = read('v1.json')
// Events as 0.2.0 left them of what it erased, and the record of it.
const erased = read('erased-v1.json')

describe('a stored event of schema version 1', () => {
  it.each([...golden, ...erased].map((one, index) => [index, one.stored.type, one] as const))(
    '%i, a %s, decodes to what it always did',
    (_, __, { stored, decoded }) => {
      const { position } = decoded
      const event = decode(stored, { stream: 's', revision: position, position })
      expect(isDeepStrictEqual(event, E.right(decoded))).toBe(true)
    },
  )

  it.each([...golden, ...erased].map((one, index) => [index, one.stored.type, one] as const))(
    '%i, a %s, has the hash that it always had, and its text is what JSON writes again',
    (_, __, { stored, hash }) => {
      expect(hashOf(stored)).toBe(hash)
      for (const text of [stored.data, stored.metadata]) expect(JSON.stringify(JSON.parse(text))).toBe(text)
    },
  )

  it('names the hash of the one before it', () => {
    const chain = golden.filter(({ stored }) => stored.type !== 'Forked')
    expect(chain.map(({ decoded }) => decoded.metadata.prev)).toEqual([
      null,
      ...chain.map(({ hash }) => hash).slice(0, -1),
    ])
  })

  it('names the hash of the one before it, erased or not', () => {
    expect(erased.map(({ decoded }) => decoded.metadata.prev)).toEqual([
      null,
      ...erased.map(({ hash }) => hash).slice(0, -1),
    ])
  })

  it('is there of every type', () => {
    expect(new Set([...golden, ...erased].map(({ stored }) => stored.type))).toEqual(
      new Set(Object.keys(dataSchemas)),
    )
  })
})
