import * as E from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { check } from '../../src/events/check.ts'

const tagged = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('a') }),
  z.strictObject({ type: z.literal('b'), count: z.int() }),
])

test.each<[said: string, schema: z.ZodType, value: unknown]>([
  ['must have at most 3 characters', z.string().max(3), 'four'],
  ['must have at most 1 item', z.array(z.int()).max(1), [1, 2]],
  ['must not be empty', z.array(z.int()).min(1), []],
  ['must be at least 3', z.int().min(3), 1],
  ['must be more than 0', z.number().positive(), 0],
  ['must be a whole number', z.int(), 1.5],
  ['must be a number, not a string', z.number(), '1'],
  ['must be "now"', z.literal('now'), 'then'],
  ['must be true', z.literal(true), 'yes'],
  ['must be one of x, y', z.enum(['x', 'y']), 'z'],
  ['must be a string or a list, not a number', z.union([z.string(), z.array(z.int())]), 5],
  ['is missing: it must be a string or a list', z.union([z.string(), z.array(z.int())]), undefined],
  ['must be a time in ISO 8601 and UTC, such as 2026-01-31T12:00:00Z', z.iso.datetime(), 'today'],
  ['type: must be one of a, b', tagged, { type: 'c' }],
  ['count: must be a number, not a string', tagged, { type: 'b', count: '1' }],
  ['cuont: is unknown: did you mean count?', tagged, { type: 'b', cuont: 1 }],
  ['[0].x: is unknown: expected one of type', z.array(tagged), [{ type: 'a', x: 1 }]],
])('a value is refused in plain words: %s', (said, schema, value) => {
  expect(check(schema, value)).toMatchObject(E.left({ message: said }))
})
