import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { commandSchemas, type CommandType } from '../../src/commands/command.ts'
import { fork, type ForkState } from '../../src/commands/fork.ts'
import { check } from '../../src/events/check.ts'
import { configured, user } from '../support/log.ts'
import { given } from '../support/specification.ts'

describe('configure', () => {
  it('may come before the first message', () => {
    given()
      .when({ type: 'configure', system: 'Be brief.' })
      .then([{ type: 'Configured', data: { system: 'Be brief.' } }])
  })

  it('writes the whole configuration: what is left out stays, null takes away', () => {
    given(configured({ system: 'Be brief.', model: 'm', parameters: { max_tokens: 9 } }))
      .when({ type: 'configure', model: 'n', parameters: null })
      .then([{ type: 'Configured', data: { system: 'Be brief.', model: 'n' } }])
      .when({ type: 'configure', tools: [{ name: 'run' }] })
      .then([{ type: 'Configured', data: { system: 'Be brief.', model: 'n', tools: [{ name: 'run' }] } }])
  })

  it('writes nothing if nothing changes', () => {
    given(configured({ system: 'Be brief.' }))
      .when({ type: 'configure', system: 'Be brief.', model: null })
      .then([])
    given(user('m0')).when({ type: 'configure' }).then([])
  })
})

describe('fork', () => {
  const parent: ForkState = { conversation: 'parent', last: 5, hash: 'h', exists: false }
  const forked = (position: number): unknown => ({
    _tag: 'Right',
    right: [{ type: 'Forked', data: { from: { conversation: 'parent', position, hash: 'h' } } }],
  })

  it('begins as the parent was right after a position, by default the last', () => {
    expect(fork({ type: 'fork', id: 'child', at: 2 }, parent)).toEqual(forked(2))
    expect(fork({ type: 'fork', id: 'child' }, parent)).toEqual(forked(5))
    expect(fork({ type: 'fork', id: 'child' }, { ...parent, last: 0 })).toEqual(forked(0))
  })

  it.each<readonly [string, string, number | undefined, Partial<ForkState>]>([
    ['a parent that is there', 'ConversationNotFound', undefined, { last: -1, hash: undefined }],
    ['an id that is free', 'ConversationExists', 2, { exists: true }],
    ['a position that the parent has', 'OutOfRange', 6, { hash: undefined }],
  ])('needs %s, else it is refused as %s', (_, tag, at, state) => {
    const decided = fork(
      { type: 'fork', id: 'child', ...(at !== undefined && { at }) },
      { ...parent, ...state },
    )
    expect(E.isLeft(decided) && decided.left._tag).toBe(tag)
  })
})

describe('a command is refused', () => {
  it.each<readonly [string, CommandType, unknown]>([
    ['without messages', 'append', { messages: [] }],
    ['with a role that is none', 'append', { messages: [{ role: 'tool', content: 'x' }] }],
    ['with a block without a type', 'append', { messages: [{ role: 'user', content: [{ text: 'x' }] }] }],
    ['with a fraction of nothing', 'truncate', { fraction: 0 }],
    ['with a fraction of more than all', 'truncate', { fraction: 1.1 }],
    ['with half a message to keep', 'truncate', { keepLast: 0.5 }],
    ['with less than no message to keep', 'truncate', { keepFirst: -1 }],
    ['with a negative position', 'restore', { marker: -1 }],
    ['with a blank summary', 'condense', { summary: ' ' }],
    ['with a summary of a role that is none', 'condense', { summary: [{ role: 'tool', content: 'x' }] }],
    ['with an empty summary', 'condense', { summary: [] }],
    ['with no place to rewind to', 'rewind', {}],
    ['with two places to rewind to', 'rewind', { to: 1, turns: 1 }],
    ['with no turns to rewind', 'rewind', { turns: 0 }],
    ['with a position before the start', 'rewind', { to: -2 }],
    ['with an id of other characters', 'fork', { id: 'a b' }],
    ['with a tolerance that is none', 'undo', { tolerate: 'all' }],
  ])('%s: %s', (_, type, input) => {
    expect(commandSchemas[type].safeParse(input).success).toBe(false)
  })

  it.each<readonly [CommandType, unknown]>([
    ['append', { messages: [{ role: 'user', content: 'Hello.' }], after: 0 }],
    ['configure', { system: 'Be brief.', tools: null, model: null, parameters: { max_tokens: 9 } }],
    ['condense', { summary: 'S.', method: 'client', origin: { model: 'm' }, keepFirst: 2, keepLast: 3 }],
    ['truncate', { fraction: 1, keepFirst: 0, keepLast: 0, keepTokens: 0 }],
    ['truncate', { keepTokens: 1_000, reason: 'too long' }],
    ['truncate', { covers: { first: 0, last: 0 } }],
    ['restore', { marker: 0 }],
    ['rewind', { to: -1 }],
    ['rewind', { before: 0, reason: 'wrong turn' }],
    ['rewind', { turns: 1 }],
    ['undo', { after: -1, tolerate: 'markers' }],
    ['fork', { id: 'child', at: 0 }],
  ])('not as a good %s: %j', (type, input) => {
    expect(check(commandSchemas[type], input)).toEqual(E.right(input))
  })

  it('and the refusal says what it needs', () => {
    expect(check(commandSchemas.condense, { summary: ' ' })).toMatchObject({
      left: { message: 'summary: a summary needs text' },
    })
    expect(check(commandSchemas.rewind, { to: 1, turns: 1 })).toMatchObject({
      left: { message: 'specify where to rewind to: exactly one of to, before, turns' },
    })
  })

  it('and names the place in the form that fits best, where there are several', () => {
    const message = (content: unknown): unknown => ({ messages: [{ role: 'user', content }] })
    const blank = { role: 'user', content: [{ type: 'text' }] }
    const path = (type: CommandType, input: unknown): unknown => {
      const checked = check(commandSchemas[type], input)
      return E.isLeft(checked) && checked.left.path
    }
    expect(path('append', message([{ type: 'text' }]))).toBe('messages[0].content[0].text')
    expect(path('condense', { summary: [blank] })).toBe('summary[0].content[0].text')
    expect(path('condense', { summary: [{ role: 'tool', content: 'x' }] })).toBe('summary[0].role')
    expect(path('condense', { summary: [{ role: 'user', content: [{ type: 1 }] }] })).toBe(
      'summary[0].content[0].type',
    )
    expect(path('configure', { system: [{ type: 1 }] })).toBe('system[0].type')
    expect(check(commandSchemas.append, message(5))).toMatchObject({
      left: {
        path: 'messages[0].content',
        message: 'messages[0].content: must be a string or a list, not a number',
      },
    })
  })
})
