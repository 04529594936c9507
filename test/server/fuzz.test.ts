import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { routes } from '../../src/server/routes/index.ts'
import { runs } from '../support/runs.ts'
import { serving } from '../support/server/asking.ts'

const one = fc.constantFrom
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  one(
    'a',
    'none',
    '__proto__',
    'constructor',
    '../a',
    '-1',
    '1e9',
    '99999999999999999999',
    '\u0000',
    '\uD800',
  ),
)
const small = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), one(null, [], {}, -1, 0, 1, 2))
const words = [
  'type after messages role content summary covers first last fraction keepLast to before turns marker id at from',
  'conversation commandId answer tenant priority system tools model parameters kind data relation ref reason input',
  'format redact __proto__ toString',
].flatMap((line) => line.split(' '))
const types = ['append', 'configure', 'condense', 'truncate', 'restore', 'rewind', 'undo', 'fork']
const { json } = fc.letrec((tie) => ({
  json: fc.oneof({ depthSize: 'small' }, small, fc.array(tie('json'), { maxLength: 3 }), tie('fields')),
  fields: fc.dictionary(one(...words), tie('json'), { maxKeys: 5 }),
}))
const content = fc.oneof(
  text,
  fc.array(fc.record({ type: one('text', 'tool_use', 'x'), text }), { maxLength: 2 }),
  json,
)
/** Nearly right, in many ways. */
const command = fc.record(
  {
    type: one(...types),
    after: one(-1, 0, 1, 2, 3, 99),
    messages: fc.array(fc.record({ role: one('user', 'assistant', 'system', 'x'), content }), {
      maxLength: 2,
    }),
    covers: fc.record({ first: fc.nat(4), last: fc.nat(4) }),
    summary: content,
    to: fc.integer({ min: -2, max: 5 }),
    turns: fc.nat(3),
    marker: fc.nat(5),
    id: text,
  },
  { requiredKeys: ['type', 'after'] },
)
const body = fc.oneof(
  { weight: 4, arbitrary: command.map((given) => JSON.stringify(given)) },
  { weight: 4, arbitrary: json.map((given) => JSON.stringify(given) ?? '') },
  {
    weight: 1,
    arbitrary: one('', '{', '[]', 'null', '[[[[', '"\\ud800"', `${'['.repeat(20_000)}${']'.repeat(20_000)}`),
  },
)
const parameter = fc.oneof(
  one('a', 'a', 'a', '0', '2', 'none'),
  text.map((given) => encodeURIComponent(given.toWellFormed())),
)
const query = fc.dictionary(
  one(
    'at',
    'from',
    'to',
    'limit',
    'offset',
    'after',
    'dryRun',
    'kind',
    'last',
    'before',
    'cursor',
    'state',
    'clip',
    'as',
    'buckets',
    'x',
  ),
  fc.oneof(one('0', '1', '2', '-1', 'true', ''), text),
  { maxKeys: 2 },
)
const request = fc.record({
  route: one(...routes),
  parameters: fc.array(parameter, { minLength: 2, maxLength: 2 }),
  query,
  body,
  headers: fc.record(
    {
      'if-match': one('*', '"r2"', 'r', '"r99999999999999999"'),
      'idempotency-key': one('k', ' ', 'x'.repeat(2_000)),
      'content-type': one('application/json', 'text/plain', ';'),
      accept: one('*/*', 'application/json'),
      'if-none-match': one('*', '""', 'W/'),
      range: one('bytes=0-1', 'bytes=-1', 'bytes=9-', 'bytes=1-0', 'bytes=', 'x'),
    },
    { requiredKeys: ['content-type'] },
  ),
})

test('whatever is asked gets an answer that the document knows, and never a fault', async () => {
  const { ask, store } = await serving({ maxBody: 100_000 })
  const user = (said: string) => ({ role: 'user', content: said }) as const
  await store.conversation('a').append([user('One.'), { role: 'assistant', content: 'Two.' }, user('Three.')])
  const counts = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(request, async ({ route, parameters, query: asked, body: sent, headers }) => {
      let next = 0
      const path = route.path.replaceAll(/\{\w+\}/g, () => parameters[next++] ?? 'a').slice(1)
      const search = new URLSearchParams(
        Object.entries(asked).map(([name, value]): [string, string] => [name, value.toWellFormed()]),
      )
      const { status } = await ask(`${path}?${search.toString()}`, {
        method: route.method === 'get' ? 'GET' : 'POST',
        ...(route.method === 'post' && { text: sent }),
        headers,
      })
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }),
    { numRuns: runs(700) },
  )
  expect([...counts.keys()]).toEqual(expect.arrayContaining([200, 400, 404]))
  expect((await store.conversation('a').verify()).discrepancy).toBeUndefined()
})
