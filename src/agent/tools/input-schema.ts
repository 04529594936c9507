import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { copyJson, type Fields, isFields } from '../../events/json.ts'
import { errorText } from '../models/error-text.ts'
import { hasJsonSchema, type StandardSchema } from './standard-schema.ts'

/**
 * Returns the JSON Schema of a tool's input for the model: `given`, else the JSON Schema that the schema's library generates.
 *
 * Errors: `InvalidInput` if neither exists, or if the API would refuse the schema.
 */
export const inputSchemaOf = (
  schema: StandardSchema,
  given: object | undefined,
): E.Either<InvalidInput, Fields> => {
  const at = given ? 'inputSchema' : 'input'
  const made = E.tryCatch(() => given ?? jsonSchemaOf(schema), errorText)
  if (E.isLeft(made))
    return E.left(invalidInput('input', `has no JSON schema (${made.left}): give one as inputSchema`))
  const copied = copyJson(made.right)
  if (E.isLeft(copied))
    return E.left(invalidInput(at, `is not a JSON schema: ${copied.left.path}: ${copied.left.problem}`))
  if (!isOfObject(copied.right))
    return E.left(
      invalidInput(at, 'must be the schema of an object: type "object", without a union at the top'),
    )
  return E.right(withoutUnions(copied.right))
}

/** Removes `$schema`, and unions at the top level, from an object's JSON Schema, because the API does not accept them. */
export const withoutUnions = (schema: Fields): Fields =>
  Object.fromEntries(
    Object.entries(schema).filter(([field]) => field !== '$schema' && !unions.includes(field)),
  )

const target = 'draft-2020-12'

const jsonSchemaOf = (schema: StandardSchema): unknown => {
  if (hasJsonSchema(schema)) return schema['~standard'].jsonSchema.input({ target })
  // zod/mini, and zod before 4.2.
  if (isZod(schema)) return z.toJSONSchema(schema, { target, io: 'input' })
  throw new TypeError(`${schema['~standard'].vendor} does not provide one`)
}

const isZod = (schema: object): schema is z.core.$ZodType => '_zod' in schema

const isOfObject = (schema: unknown): schema is Fields =>
  isFields(schema) && schema['type'] === 'object' && !unions.some((union) => union in schema)

const unions: readonly string[] = ['anyOf', 'oneOf', 'allOf']
