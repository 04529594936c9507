import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { areUnedited, blocksOf } from '../../src/commands/append.ts'
import { commandSchemas } from '../../src/commands/command.ts'
import { acceptsData, acceptsMetadata } from '../../src/events/accept.ts'
import { dataSchemas, type EventType, metadataSchema } from '../../src/events/events.ts'
import { turnSchemas } from '../../src/events/turn-events.ts'
import { text, thinking, toolResult, toolUse } from '../support/log.ts'
import { runs } from '../support/runs.ts'

// Every good value that a store meets in its ordinary work, with all the fields that it may have.

const content = [
  text('Hello.'),
  text(''),
  thinking('signature'),
  { type: 'thinking', thinking: '' },
  toolUse('a', { path: 'a.ts' }),
  toolUse('b', null),
  toolResult('a'),
  toolResult('a', ''),
  toolResult('a', [text('done'), { type: 'block_of_the_future' }]),
  { ...toolResult('a', []), is_error: true },
  { type: 'tool_result', tool_use_id: 'a', is_error: false },
  { type: 'block_of_the_future', text: 1, future: { field: [] } },
]
const origin = { model: 'm', stopReason: 'end_turn', usage: { input_tokens: 1 }, requestId: 'r', future: 1 }
const view = { items: [{ first: 0, last: 3 }, { marker: 4 }], configured: 0, promptSince: 0 }
const marker = { covers: { first: 0, last: 3 }, messagesHidden: 4, tokens: { before: 9, after: 0 } }
const policy = {
  of: 'context',
  used: 9,
  allowed: 8,
  position: -1,
  settings: { window: 9 },
  options: { canCondense: false },
  said: 0,
  failed: 'ContextGrew',
  future: 1,
}
const summary = [{ role: 'user', content: [text('Summary.')] }]
const time = '2026-01-01T00:00:00.000Z'
const metadata = { schema: 1, time, actor: { kind: 'user' }, commandId: 'c', prev: null }

const data: readonly (readonly [EventType, object])[] = [
  ['MessageAppended', { role: 'user', content, messageId: 'id', origin, future: 1 }],
  ['MessageAppended', { role: 'assistant', content: [], origin: {} }],
  ['MessageAppended', { role: 'system', content: [text('Be brief.')], origin: { stopReason: null } }],
  ['Truncated', { ...marker, reason: 'too long', view, future: 1 }],
  ['Truncated', { ...marker, view: { items: [] } }],
  ['Truncated', marker],
  ['Truncated', { ...marker, policy }],
  [
    'Condensed',
    { ...marker, summary, method: 'client', policy: { of: 'result', used: 9, allowed: 8, position: 3 } },
  ],
  ['Condensed', { ...marker, summary, method: 'model', origin, view }],
  ...['provider', 'client', 'manual'].map((method) => ['Condensed', { ...marker, summary, method }] as const),
  ['Restored', { marker: 4, view }],
  ['Restored', { marker: 0 }],
  ['Rewound', { to: -1, reason: '' }],
  ['Rewound', { to: 0 }],
]
const claim = { step: 'conversation@0', worker: 'w', attempt: 1, at: 0 }
const claims = [claim, { ...claim, attempt: 2, isTurn: true, at: -1, future: 1 }]
const metadatas = [
  metadata,
  { ...metadata, actor: { kind: 'agent', id: '' }, $correlationId: 'a', $causationId: 'b', prev: 'hash' },
  { ...metadata, workspace: { kind: 'git', commit: '3f2a1c4' } },
  { ...metadata, workspace: { kind: 'git', commit: 'a'.repeat(64), dirty: true } },
]

interface Good {
  readonly name: string
  readonly value: object
  readonly accepts: (value: unknown) => boolean
  readonly schema: z.ZodType
}
const good: readonly Good[] = [
  ...data.map(([type, value]) => ({
    name: type,
    value,
    accepts: (given: unknown) => acceptsData(type, given),
    schema: dataSchemas[type],
  })),
  ...claims.map((value) => ({
    name: 'TurnClaimed',
    value,
    accepts: (given: unknown) => acceptsData('TurnClaimed', given),
    schema: turnSchemas.TurnClaimed,
  })),
  ...metadatas.map((value) => ({
    name: 'metadata',
    value,
    accepts: acceptsMetadata,
    schema: metadataSchema,
  })),
  ...[content, 'Hello.'].map((said) => ({
    name: 'messages to append',
    value: [{ role: 'user', content: said, messageId: 'id', origin, future: 1 }],
    accepts: (given: unknown) =>
      areUnedited(given) &&
      given.every((message) =>
        acceptsData('MessageAppended', { ...message, content: blocksOf(message.content) }),
      ),
    schema: commandSchemas.append.shape.messages,
  })),
]

type Path = readonly string[]
const isNode = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Where in a value there is something, the value itself included. */
const pathsOf = (value: unknown): readonly Path[] => [
  [],
  ...(isNode(value)
    ? Object.entries(value).flatMap(([key, inner]) => pathsOf(inner).map((path) => [key, ...path]))
    : []),
]

const absent = Symbol('absent')

/** A copy of the value with something else at the path, or with nothing there. */
const changed = (value: unknown, [key, ...rest]: Path, by: unknown): unknown => {
  if (key === undefined) return by === absent ? undefined : by
  if (!isNode(value)) return value
  if (Array.isArray(value)) {
    const inner = changed(value[Number(key)], rest, by)
    const isGone = rest.length === 0 && by === absent
    return value.toSpliced(Number(key), 1, ...(isGone ? [] : [inner]))
  }
  const others = Object.entries(value).filter(([name]) => name !== key)
  const inner: unknown = Object.entries(value).find(([name]) => name === key)?.[1]
  const isGone = rest.length === 0 && by === absent
  return Object.fromEntries([...others, ...(isGone ? [] : [[key, changed(inner, rest, by)] as const])])
}

const plain: readonly unknown[] = [null, true, '', 'text', -2, -1, 0, 0.5, 1, 2 ** 53, Infinity]
const times: readonly unknown[] = ['2026-01-01', `${time} `, ` ${time}`]
const lists: readonly unknown[] = [
  [],
  [null],
  ['text'],
  [{}],
  [text('x')],
  [{ type: '' }],
  [{ first: 0, last: -1 }],
]
const objects: readonly unknown[] = [
  {},
  { type: '' },
  { type: 1 },
  { type: 'image' },
  { first: 0 },
  { marker: -1 },
  { sealed: 1 },
  { restored: [] },
]
const others = [absent, ...plain, ...times, ...lists, ...objects]

const isSound = ({ accepts, schema }: Good, value: unknown): boolean =>
  !accepts(value) || schema.safeParse(value).success

describe('the quick check', () => {
  it.each(good)('accepts the ordinary: %# $name', ({ value, accepts, schema }) => {
    expect(schema.safeParse(value).success).toBe(true)
    expect(accepts(value)).toBe(true)
  })

  it.each(good)('accepts nothing that the schema refuses, one field changed: %# $name', (one) => {
    for (const path of pathsOf(one.value))
      for (const by of others) {
        const value = changed(one.value, path, by)
        expect(isSound(one, value), `${path.join('.')}: ${JSON.stringify(value)}`).toBe(true)
      }
  })

  it('accepts nothing that the schema refuses, several fields changed to anything', () => {
    const anything = fc.oneof(
      fc.constantFrom(...others),
      fc.jsonValue(),
      fc.constantFrom(...content, ...data),
    )
    const change = fc.tuple(
      fc.nat(),
      anything,
      fc.constantFrom('', 'sealed', '__proto__', 'constructor', 'type'),
    )
    const changes = fc.array(change, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fc.constantFrom(...good), changes, (one, all) => {
        const value = all.reduce<unknown>((given, [where, by, key]) => {
          const paths = pathsOf(given)
          const path = paths[where % paths.length] ?? []
          return changed(given, key === '' ? path : [...path, key], by)
        }, one.value)
        expect(isSound(one, value)).toBe(true)
      }),
      { numRuns: runs(12_000) },
    )
  })

  it('leaves to the schema what is sealed, what is not known and what is rare', () => {
    const [type, value] = ['MessageAppended', { role: 'user', content: [] }] as const
    expect(acceptsData(type, value)).toBe(true)
    expect(acceptsData(type, { ...value, sealed: {} })).toBe(false)
    expect(acceptsMetadata({ ...metadata, sealed: {} })).toBe(false)
    expect(acceptsData('Truncated', { ...marker, view: { items: [], restored: [] } })).toBe(false)
    expect(acceptsData('Configured', {})).toBe(false)
    expect(acceptsData('Erased', value)).toBe(false)
  })
})
