import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkEditedInput } from '../../../src/agent/tools/edited-input.ts'
import { isFields } from '../../../src/events/json.ts'
import { runs } from '../../support/runs.ts'

const check = (input_schema: unknown, input: { readonly [field: string]: unknown }) =>
  checkEditedInput([{ name: 'other' }, { name: 'pay', input_schema }], 'pay', input)
const pathOf = (input_schema: unknown, input: { readonly [field: string]: unknown }): string | undefined => {
  const checked = check(input_schema, input)
  return E.isLeft(checked) ? checked.left.path : undefined
}

describe('given the schema of a tool', () => {
  test.each<readonly [string, object, { readonly [field: string]: unknown }, string]>([
    ['a field of another type', { properties: { a: { type: 'string' } } }, { a: 1 }, 'input.a'],
    ['a missing field', { required: ['a'] }, {}, 'input.a'],
    ['a field too many', { additionalProperties: false }, { a: 1 }, 'input.a'],
    ['none of several', { properties: { a: { enum: ['x', 'y'] } } }, { a: 'z' }, 'input.a'],
    ['another constant', { properties: { a: { const: { b: 1 } } } }, { a: { b: 2 } }, 'input.a'],
    ['a number out of bounds', { properties: { a: { maximum: 3 } } }, { a: 4 }, 'input.a'],
    ['a number at a bound that is none', { properties: { a: { exclusiveMinimum: 3 } } }, { a: 3 }, 'input.a'],
    ['a text too long', { properties: { a: { maxLength: 1 } } }, { a: 'ab' }, 'input.a'],
    ['a list too short', { properties: { a: { minItems: 1 } } }, { a: [] }, 'input.a'],
    ['an element', { properties: { a: { items: { type: 'integer' } } } }, { a: [1, 1.5] }, 'input.a[1]'],
    [
      'no way of a union',
      { properties: { a: { anyOf: [{ type: 'null' }, { type: 'array' }] } } },
      { a: 1 },
      'input.a',
    ],
    ['a part by reference', { $ref: '#/$defs/x', $defs: { x: { required: ['b'] } } }, {}, 'input.b'],
  ])('%s is refused', (_, schema, input, path) => {
    expect(pathOf({ type: 'object', ...schema }, input)).toBe(path)
  })

  test.each([
    undefined,
    null,
    true,
    'nonsense',
    { type: 'unheard-of' },
    { $ref: '#' },
    { $ref: 'https://example.com/a.json' },
    { allOf: [{ $ref: '#' }, { $ref: '#' }] },
    { properties: { a: { format: 'date-time', pattern: '^(a+)+$' } } },
    { if: { required: ['a'] }, then: { required: ['b'] } },
  ])('%j refuses nothing, and takes no time', (schema) => {
    expect(E.isRight(check(schema, { a: `${'a'.repeat(50)}!` }))).toBe(true)
  })

  test('an emoji is one character, and -0 is 0', () => {
    expect(pathOf({ properties: { a: { maxLength: 1 } } }, { a: '😀' })).toBeUndefined()
    expect(pathOf({ properties: { a: { minimum: 0 } } }, { a: 0 })).toBeUndefined()
  })
})

test('whatever a schema of zod takes is taken, and what is of another type is refused', () => {
  const schema = z.object({
    to: z.string().min(1).max(4),
    euros: z.int().min(0).max(9).default(1),
    how: z.enum(['cash', 'card']).optional(),
    lines: z.array(z.union([z.string(), z.object({ n: z.number() })])).max(3),
    more: z.record(z.string(), z.boolean()).nullable(),
  })
  const told = z.toJSONSchema(schema, { io: 'input' })
  const value = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.integer({ min: -2, max: 12 }),
    fc.constantFrom(null, true, 'cash', 1.5),
    fc.array(fc.oneof(fc.string({ maxLength: 2 }), fc.constant({ n: 1 }), fc.integer()), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 2 }), fc.boolean(), { maxKeys: 2 }),
  )
  const fields = ['to', 'euros', 'how', 'lines', 'more'] as const
  const input = fc.record(Object.fromEntries(fields.map((field) => [field, value])), { requiredKeys: [] })
  fc.assert(
    fc.property(input, (given) => {
      if (!isFields(given)) return
      expect(E.isRight(check(told, given))).toBe(schema.safeParse(given).success)
    }),
    { numRuns: runs(2_000) },
  )
})
