import { atEnd } from '../support/at-end.ts'
import { type Conversation, openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'

// What a caller gives is read once, checked, and written as it was checked: what is acknowledged can be read for ever.

const hello = { role: 'user', content: [{ type: 'text', text: 'x' }] } as const
const opened = async (actor: unknown = { kind: 'test' }): Promise<Store> => {
  const store = await openStore('memory:', { actor: actor as never })
  atEnd(store.close)
  return store
}

class Writing extends Array<unknown> {
  toJSON(): unknown {
    return 'no list at all'
  }
}
const hiding = (value: object): object =>
  Object.defineProperty(value, 'toJSON', { value: () => ({ type: 5 }) })
const inheriting = (value: object): object =>
  Object.assign(Object.create(Object.assign(Object.create(null), { toJSON: () => 5 })), value)
/** Shows the one value at first, then the other. */
const changing = (first: unknown, then: unknown, reads: number): object => {
  let n = 0
  return Object.defineProperty({ ...hello.content[0] }, 'text', {
    enumerable: true,
    get: () => (n++ < reads ? first : then),
  })
}
const nested = (levels: number): unknown => {
  let inner: unknown = 1
  for (let level = 0; level < levels; level++) inner = { inner }
  return inner
}
const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic
class Late extends Date {
  override getTime(): number {
    return 5
  }
  override toISOString(): string {
    return 'some time'
  }
}

/** Values that stand where JSON should. */
const strange: readonly (readonly [string, () => unknown])[] = [
  ['an array that writes itself', () => Writing.of({ type: 'text', text: 'x' })],
  ['a block that hides a toJSON', () => [hiding({ type: 'text', text: 'x' })]],
  ['a block that inherits a toJSON', () => [inheriting({ type: 'text', text: 'x' })]],
  ...[1, 2, 3, 4, 5, 6].flatMap((reads): (readonly [string, () => unknown])[] => [
    [`a getter that changes after read ${reads}`, () => [changing('x', 5, reads)]],
    [`a getter that ends after read ${reads}`, () => [changing('x', undefined, reads)]],
    [`a getter that comes right after read ${reads}`, () => [changing(5, 'x', reads)]],
  ]),
  ['a boxed string', () => Object('x')],
  ['a block of a boxed string', () => [{ type: 'text', text: Object('x') }]],
  ['a block whose text changes', () => [{ type: 'text', text: { toString: () => 'x' } }]],
  ['a date', () => new Date()],
  ['a map', () => new Map([['type', 'text']])],
  // oxlint-disable-next-line no-sparse-arrays -- what is tried
  ['holes', () => [, { type: 'text', text: 'x' }]],
  ['a list of four thousand million holes', () => Object.assign([], { length: 2 ** 32 - 1 })],
  ['a bigint', () => [{ type: 'x', n: 1n }]],
  ['a symbol', () => [{ type: 'x', s: Symbol('s') }]],
  ['a cycle', () => [{ type: 'x', cyclic }]],
  ['a hundred thousand levels', () => [{ type: 'x', deep: nested(100_000) }]],
  ['a proxy', () => new Proxy([{ type: 'text', text: 'x' }], {})],
  ['a prototype of the data', () => [JSON.parse('{"type":"x","__proto__":{"a":1}}')]],
  ['zero from below', () => [{ type: 'x', n: -0 }]],
  ['half a pair', () => [{ type: 'text', text: '\ud83d' }]],
]

type Command = (chat: Conversation, value: unknown) => Promise<unknown>
const commands: readonly (readonly [string, Command])[] = [
  ['append', (chat, content) => chat.append({ role: 'user', content } as never)],
  ['append, fenced', (chat, content) => chat.append({ role: 'user', content } as never, { after: 4 })],
  ['append of several', (chat, messages) => chat.append(messages as never)],
  ['append, its origin', (chat, usage) => chat.append({ ...hello, origin: { usage: { usage } } })],
  ['append, its actor', (chat, x) => chat.append(hello, { actor: { kind: 'x', x } as never })],
  ['append, its id', (chat, messageId) => chat.append({ ...hello, messageId } as never)],
  ['condense', (chat, summary) => chat.condense({ summary } as never)],
  ['condense, messages', (chat, content) => chat.condense({ summary: [{ role: 'user', content }] } as never)],
  ['truncate, its reason', (chat, reason) => chat.truncate({ reason } as never)],
  ['configure', (chat, system) => chat.configure({ system } as never)],
  ['configure, tools', (chat, tools) => chat.configure({ tools: [{ tools }] })],
  ['configure, parameters', (chat, parameters) => chat.configure({ parameters } as never)],
  ['rewind, its reason', (chat, reason) => chat.rewind({ to: 1, reason } as never)],
  ['fork', (chat, id) => chat.fork(id as never)],
  ['a correlation', (chat, correlationId) => chat.append(hello, { correlationId } as never)],
]

describe.each(strange)('%s', (_, value) => {
  test.each(commands)('%s: is refused, or written as it can be read', async (__, command) => {
    const chat = (await opened()).conversation('c')
    await chat.append([hello, hello, hello, hello, hello])
    const done = await command(chat, value()).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (done) expect(done).toMatchObject({ _tag: 'InvalidInput' })
    await chat.append(hello)
    expect(await chat.verify()).not.toHaveProperty('discrepancy')
    for (const { text } of (await chat.effective()).flatMap(textsIn)) expect(text).toBeTypeOf('string')
  })
})

const textsIn = (
  item: Awaited<ReturnType<Conversation['effective']>>[number],
): readonly { readonly text?: unknown; readonly type: string }[] =>
  item.kind === 'message' ? item.content.filter(({ type }) => type === 'text') : []

test('a list of a class of its own, without a toJSON, is a list', async () => {
  class Messages extends Array<unknown> {}
  const chat = (await opened()).conversation('c')
  await chat.append(hello)
  await chat.append(Messages.of(hello, hello))
  expect(await chat.effective()).toHaveLength(3)
})

test('what the caller does with messages, options and actor afterwards changes nothing', async () => {
  const actor = { kind: 'before' }
  const chat = (await opened(actor)).conversation('c')
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'before' }] }
  const now = new Date(0)
  const options = { actor: { kind: 'mine' }, now, commandId: 'k' }
  const writing = [chat.append(message), chat.append(message, options), chat.append(message)]
  const [block] = message.content
  if (block) block.text = 'after'
  actor.kind = options.actor.kind = options.commandId = 'after'
  now.setTime(1e12)
  await Promise.all(writing)
  await chat.append(hello)
  const seen = []
  for await (const { data, metadata } of chat.events())
    seen.push([JSON.stringify(data).includes('before'), metadata.actor.kind, metadata.commandId === 'k'])
  expect(seen).toEqual([
    [true, 'before', false],
    [true, 'mine', true],
    [true, 'before', false],
    [false, 'before', false],
  ])
  expect((await chat.full())[1]?.time).toBe('1970-01-01T00:00:00.000Z')
})

test.each([
  ['of a class with another mind', new Late(0), undefined],
  ['that is none', new Date(Number.NaN), 'InvalidInput'],
  ['of no date', Object.create(Date.prototype), 'InvalidInput'],
  ['beyond the year 9999', new Date(8.64e15), 'InvalidInput'],
])('a time %s is taken for what it is', async (_, now, tag) => {
  const chat = (await opened()).conversation('c')
  await chat.append(hello)
  const done = await chat.append(hello, { now }).then(
    () => undefined,
    (error: { _tag?: unknown }) => error._tag,
  )
  expect(done).toBe(tag)
  await chat.append(hello)
  expect(await chat.verify()).toEqual({ conversation: 'c', events: tag ? 2 : 3 })
  if (!tag) expect((await chat.full())[1]?.time).toBe('1970-01-01T00:00:00.000Z')
})
