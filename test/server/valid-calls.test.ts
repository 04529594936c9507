import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../support/runs.ts'
import { type Schema, valuesOf } from '../support/schema-values.ts'
import { serving } from '../support/server/asking.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}
interface Operation {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

test('a call that the document allows is not a bad request', async () => {
  const { ask, store } = await serving()
  const chat = store.conversation('a')
  await chat.append([
    { role: 'user', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
    { role: 'user', content: 'Three.' },
  ])
  const { paths, components } = (await ask('openapi.json')).json as unknown as Document
  const of = valuesOf(components.schemas)
  const asked = fc.constantFrom(
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    ),
  )
  const call = asked.chain(({ path, method, operation }) =>
    fc.record({
      path: fc.constant(path),
      method: fc.constant(method),
      name: fc.constant(operation.operationId),
      given: fc.record(
        Object.fromEntries(
          operation.parameters.map((one) => [
            `${one.in} ${one.name}`,
            one.in === 'header' ? of({ pattern: '^[!-~]+$', ...one.schema }) : one.name === 'id' ? fc.oneof(fc.constant('a'), of(one.schema)) : of(one.schema),
          ]),
        ),
        {
          requiredKeys: operation.parameters
            .filter(({ required }) => required)
            .map((one) => `${one.in} ${one.name}`),
        },
      ),
      body: operation.requestBody
        ? of(operation.requestBody.content['application/json'].schema)
        : fc.constant(undefined),
    }),
  )
  const bad = new Map<string, string[]>()
  await fc.assert(
    fc.asyncProperty(call, async ({ path, method, name, given, body }) => {
      const values = Object.entries(given).map(([key, value]) => [...key.split(' '), value] as const)
      const of = (place: string) => values.filter(([its]) => its === place)
      let to = path
      for (const [, parameter, value] of of('path'))
        to = to.replace(`{${parameter}}`, encodeURIComponent(String(value)))
      const query = of('query').map(([, key, value]) => `${key}=${encodeURIComponent(String(value))}`)
      const headers = Object.fromEntries(of('header').map(([, key, value]) => [key, String(value)]))
      const answer = await ask(`${to}?${query.join('&')}`, {
        method: method === 'get' ? 'GET' : 'POST',
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { text: JSON.stringify(body) }),
      })
      if (answer.status === 400) bad.set(name, [...(bad.get(name) ?? []), `${answer.text} ${query.join('&')} ${JSON.stringify(headers)} ${JSON.stringify(body)}`])
    }),
    { numRuns: runs(1_000) },
  )
  for (const [name, texts] of bad) console.log(name, texts.length, ...texts.slice(0, 2).map(t => '\n    ' + t.slice(0, 400)))
  expect(bad.size).toBe(0)
})
