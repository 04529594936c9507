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

/** What a JSON Schema cannot say: how fields of one request relate to each other, or to the conversation. The descriptions do. */
const between = [
  // Fields that exclude, require or order each other.
  /cannot be combined with|exactly one of|set either messages or from|send only one of them/,
  /Idempotency-Key and commandId differ/,
  /`after` is for event streams only/,
  /must be the numbers of the first and the last call/,
  /is not before the bad position/,
  /a title must be a non-empty string/,
  /leave no room for a request/,
  /an? palimpsest export is verbatim|the original file is exported|is recorded with messages/,
  // Numbers of any JSON that a double cannot hold: no schema says so of JSON without one.
  /would be changed: send it as a string/,
  // What the conversation has, or who is to answer.
  /is after the last position/,
  /the receipt of call \d+ [^]*cannot be used/,
  /must be a list of positions from 0 to|withhold names more than 10000 positions/,
  /must be a user message|is empty: nothing was written|workers would not answer/,
]

/** Texts that only the server makes. */
const isIssued = ({ name, schema }: Parameter): boolean =>
  schema.format === 'cursor' || schema.format === 'checkpoint' || name === 'Last-Event-ID'

test('a call that the document allows is not a bad request', async () => {
  const { ask, fetch, store } = await serving()
  await store.conversation('a').append([
    { role: 'user', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
    { role: 'user', content: 'Three.' },
  ])
  const { paths, components } = (await ask('openapi.json')).json as unknown as Document
  const of = valuesOf(components.schemas)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parameters = operation.parameters.filter((one) => !isIssued(one))
      return fc.record({
        path: fc.constant(path),
        method: fc.constant(method === 'get' ? ('GET' as const) : ('POST' as const)),
        name: fc.constant(operation.operationId),
        given: fc.record(
          Object.fromEntries(
            parameters.map((one) => {
              const value = of(one.in === 'header' ? { pattern: '^[!-~]+$', ...one.schema } : one.schema)
              return [`${one.in} ${one.name}`, one.name === 'id' ? fc.oneof(fc.constant('a'), value) : value]
            }),
          ),
          { requiredKeys: parameters.filter((one) => one.required).map((one) => `${one.in} ${one.name}`) },
        ),
        body: operation.requestBody
          ? of(operation.requestBody.content['application/json'].schema)
          : fc.constant(undefined),
      })
    }),
  )
  const refused: string[] = []
  await fc.assert(
    fc.asyncProperty(fc.oneof(...operations), async ({ path, method, name, given, body }) => {
      const values = Object.entries(given).map(([key, value]) => [...key.split(' '), String(value)])
      const placed = (place: string) =>
        values.flatMap(([its, key = '', value = '']) => (its === place ? [[key, value] as const] : []))
      const filled = placed('path').reduce(
        (to, [key, value]) => to.replace(`{${key}}`, encodeURIComponent(value)),
        path,
      )
      const asked = {
        method,
        headers: Object.fromEntries(placed('header')),
        ...(body !== undefined && { json: body }),
      }
      const answer = await fetch(
        `${filled}?${new URLSearchParams(Object.fromEntries(placed('query'))).toString()}`,
        asked,
      )
      if (answer.status !== 400) return answer.body?.cancel()
      const problem = (await answer.json()) as { readonly detail: string }
      if (!between.some((rule) => rule.test(problem.detail)))
        refused.push(`${name}: ${problem.detail}  ${JSON.stringify({ given, body })}`.slice(0, 500))
    }),
    { numRuns: runs(1_000) },
  )
  expect(refused).toEqual([])
})
