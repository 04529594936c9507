import { execFileSync } from 'node:child_process'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { linesOf, usageIn } from '../../src/ui/request/cache-usage.ts'
import { curlOf } from '../../src/ui/request/curl.ts'
import { inOrder, isAt, partsOf, secretsIn } from '../../src/ui/request/parts.ts'
import { placeOf } from '../../src/ui/request/neighbours.ts'
import { receiptLabelOf } from '../../src/ui/request/receipt.ts'
import { bodyOf } from '../../src/ui/request/call.ts'
import { beforeText, describeDerived, groupsOf } from '../../src/ui/request/why.ts'
import { runs } from '../support/runs.ts'

const text = (letters: number, isBreakpoint = false) => ({
  type: 'text',
  text: 'x'.repeat(letters),
  ...(isBreakpoint && { cache_control: { type: 'ephemeral' } }),
})
const request = {
  model: 'claude-opus-5-5',
  max_tokens: 4_000,
  tools: [{ name: 'read', input_schema: {} }],
  system: [text(1_000, true)],
  messages: [
    { role: 'user', content: [text(2_000, true)] },
    { role: 'assistant', content: [text(3_000)] },
    { role: 'user', content: [text(100, true), text(10)] },
  ],
}

test('the parts of a request have the places that findings name', () => {
  const parts = partsOf(request)
  expect(inOrder(parts).map(({ path }) => path)).toEqual([
    'tools[0]',
    'system[0]',
    'messages[0].content[0]',
    'messages[1].content[0]',
    'messages[2].content[0]',
    'messages[2].content[1]',
  ])
  expect(parts.settings).toEqual([
    ['model', 'claude-opus-5-5'],
    ['max_tokens', 4_000],
  ])
  expect(inOrder(partsOf({ system: 'Be brief.', messages: [] })).map(({ path }) => path)).toEqual(['system'])
})

test('a message of Chat Completions keeps its calls, and is found by its own place', () => {
  const [said] = partsOf({
    messages: [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
    ],
  }).messages
  expect(said?.parts).toMatchObject([{ block: { type: 'tool_call', id: 'a' } }])
  expect(said?.parts.map((part) => [isAt(part, 'messages[0]'), isAt(part, 'messages[1]')])).toEqual([
    [true, false],
  ])
})

test('what is in the cache ends at the last breakpoint, what was read from it at the one that fits best', () => {
  const usage = usageIn({
    cache_read_input_tokens: 800,
    cache_creation_input_tokens: 700,
    input_tokens: 3,
    output_tokens: 91,
  })
  expect(usage).toEqual({ read: 800, written: 700, fresh: 3, input: 1_503, output: 91 })
  expect(linesOf(partsOf(request), usage)).toEqual([
    { kind: 'read', after: 'messages[0].content[0]', tokens: 800, isNear: true },
    { kind: 'written', after: 'messages[2].content[0]', tokens: 700, isNear: false },
  ])
})

test('where everything was read, there is one line at the last breakpoint', () => {
  const usage = usageIn({ cache_read_input_tokens: 1_500, input_tokens: 3 })
  expect(linesOf(partsOf(request), usage)).toEqual([
    { kind: 'read', after: 'messages[2].content[0]', tokens: 1_500, isNear: false },
  ])
})

test('without a breakpoint the line is where about so much has been read', () => {
  const plain = { messages: [{ role: 'user', content: [text(1_000), text(1_000), text(1_000)] }] }
  const usage = usageIn({ cache_read_input_tokens: 200, input_tokens: 100 })
  expect(linesOf(partsOf(plain), usage)).toEqual([
    { kind: 'read', after: 'messages[0].content[1]', tokens: 200, isNear: true },
  ])
})

test('without counts, or without a cache, there is no line', () => {
  expect(usageIn(undefined)).toBeUndefined()
  expect(usageIn({ input_tokens: 'many' })).toBeUndefined()
  expect(linesOf(partsOf(request), usageIn({ input_tokens: 9, output_tokens: 1 }))).toEqual([])
})

test('lines are in the order of the request, at parts that it has', () => {
  const block = fc.record({ letters: fc.nat(50), isBreakpoint: fc.boolean() })
  const counts = fc.record({
    cache_read_input_tokens: fc.nat(99),
    cache_creation_input_tokens: fc.nat(99),
    input_tokens: fc.nat(99),
  })
  fc.assert(
    fc.property(fc.array(block), counts, (blocks, usage) => {
      const content = blocks.map(({ letters, isBreakpoint }) => text(letters, isBreakpoint))
      const parts = partsOf({ messages: [{ role: 'user', content }] })
      const places = inOrder(parts).map(({ path }) => path)
      const at = linesOf(parts, usageIn(usage)).map(({ after }) => places.indexOf(after))
      expect(at.every((place, index) => place >= 0 && place >= (at[index - 1] ?? 0))).toBe(true)
    }),
    { numRuns: runs(500) },
  )
})

test('secrets are references, each named once', () => {
  const reference = { $secret: 'mcp_servers[0].authorization_token' }
  expect(secretsIn({ a: [reference, { b: reference }], c: { $secret: 'x.cookie' } }).toSorted()).toEqual([
    'mcp_servers[0].authorization_token',
    'x.cookie',
  ])
})

test('secrets are found beside as many values as a tool may be given', () => {
  const many = Array.from({ length: 200_000 }, (_, index) => index)
  const keys = Object.fromEntries(many.map((index) => [`k${index}`, index]))
  expect(secretsIn([many, keys, { $secret: 'x.cookie' }])).toEqual(['x.cookie'])
})

test('curl is given the same body, whatever is in it', () => {
  const hostile = `it's $HOME \`id\` "quoted" \\ and\nEND\nmore`
  const body = JSON.stringify({ messages: [{ role: 'user', content: hostile }] })
  const command = curlOf({ body, isChat: false, betas: ["it's-a-beta"] })
  // In the place of curl, a function that prints what it is given.
  const print = `curl() { printf '%s\\n' "$@"; cat; }\n`
  const printed = execFileSync('sh', ['-c', print + command], {
    encoding: 'utf8',
    env: { ANTHROPIC_API_KEY: 'a key' },
  })
  expect(printed.split('\n')).toEqual([
    '-fsS',
    'https://api.anthropic.com/v1/messages',
    '-H',
    'x-api-key: a key',
    '-H',
    'anthropic-version: 2023-06-01',
    '-H',
    "anthropic-beta: it's-a-beta",
    '-H',
    'content-type: application/json',
    '--data-binary',
    '@-',
    body,
    '',
  ])
})

test('curl says which secrets it lacks', () => {
  const body = JSON.stringify({ messages: [], mcp_servers: [{ authorization_token: { $secret: 'a.b' } }] })
  expect(curlOf({ body, isChat: true })).toMatch(
    /^# put the secret in the place of \{"\$secret":"a\.b"\}\ncurl /,
  )
})

test('every state of a receipt has a word, and its own reason if there is one', () => {
  expect(receiptLabelOf({ state: 'verified' }).word).toBe('verified')
  expect(receiptLabelOf({ state: 'reconstructed' }).word).toBe('reconstructed, no receipt')
  const finding = { kind: 'block', message: 'messages[3] is not what was sent', path: 'messages[3]' }
  expect(receiptLabelOf({ state: 'differs', finding })).toMatchObject({
    means: finding.message,
    path: finding.path,
  })
})

test('a call has the one before and the one after it, whether they have receipts or not', () => {
  const all = { items: [{ number: 1, position: 2 }, { position: 4 }, { number: 2, position: 7 }] }
  expect(placeOf('p4', all)).toEqual({ previous: '1', next: '2', of: 'of 3', nth: '2' })
  expect(placeOf('1', all)).toEqual({ previous: undefined, next: 'p4', of: 'of 3', nth: '1' })
  // The one that is being made.
  expect(placeOf('3', all)).toEqual({ previous: '2', next: undefined, of: 'of 3', nth: '3' })
  expect(placeOf('3', undefined)).toEqual({ previous: undefined, next: undefined, of: '', nth: '3' })
})

test('a call after the first thousand is still followed by others', () => {
  const all = { items: [{ number: 1 }, { number: 2 }], next: 9 }
  expect(placeOf('2', all)).toEqual({ previous: '1', next: '3', of: 'of 2+', nth: '2' })
  expect(placeOf('2000', all)).toEqual({ previous: '1999', next: '2001', of: 'of 2+', nth: '2000' })
})

test('the body has the model and the parameters as it was sent', () => {
  const messages = [{ role: 'user' }]
  expect(bodyOf({ request: { model: 'm', parameters: { max_tokens: 5 }, messages } })).toEqual({
    model: 'm',
    max_tokens: 5,
    messages,
  })
})

test('what one event made of several items is one line, and what was said meanwhile another', () => {
  const item = (change: 'appeared' | 'disappeared', position: number, because: string, event = position) => ({
    change,
    position,
    kind: because === 'condense' && change === 'appeared' ? 'summary' : 'message',
    tokens: 10,
    because,
    event,
  })
  const groups = groupsOf([
    item('disappeared', 2, 'condense', 30),
    item('disappeared', 3, 'condense', 30),
    item('disappeared', 7, 'rewind', 31),
    item('appeared', 30, 'condense'),
    item('appeared', 32, 'message'),
    item('appeared', 33, 'message'),
  ])
  expect(groups.map(({ first, last, items, tokens, event }) => [first, last, items, tokens, event])).toEqual([
    [2, 3, 2, 20, 30],
    [7, 7, 1, 10, 31],
    [30, 30, 1, 10, 30],
    [32, 33, 2, 20, undefined],
  ])
})

test('what is derived says so, and what is not recorded', () => {
  expect(describeDerived({ unrecorded: ['system', 'tools'] })).toBe(
    'Derived from the log, not proven by a receipt. Not recorded: system prompt, tools.',
  )
  expect(describeDerived({ unrecorded: [] })).toBe('Derived from the log, not proven by a receipt.')
  expect([beforeText(1_200), beforeText('p1200')]).toEqual(['call 1,200', 'the reply at 1,200'])
})
