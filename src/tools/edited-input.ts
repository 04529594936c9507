import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { parsed } from '../events/check.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type Fields, isFields } from '../events/json.ts'

/**
 * Checks the input that a person gives a tool against what the model was told of it. What the JSON schema says in terms that zod does not
 * know is left to the tool.
 *
 * @param tools as they are configured
 */
export const editedInput = (
  tools: readonly unknown[],
  name: string,
  input: Fields,
): E.Either<InvalidInput, Fields> => {
  const tool = tools.filter(isFields).find((each) => each['name'] === name)
  const schema = tool && zodOf(tool['input_schema'])
  const checked = schema ? parsed(schema, input) : E.right(input)
  if (E.isRight(checked)) return E.right(input)
  const { path, message } = checked.left
  const problem = path === '' ? message : message.slice(path.length + 2)
  return E.left(
    invalidInput(path === '' ? 'input' : `input.${path}`, `${problem} (by the schema of ${name})`),
  )
}

const zodOf = (schema: unknown): z.ZodType | undefined => {
  if (!isFields(schema)) return undefined
  try {
    return z.fromJSONSchema(withoutFormats(schema) as Parameters<typeof z.fromJSONSchema>[0])
  } catch {
    return undefined
  }
}

/** In JSON Schema they only describe; zod would refuse times with an offset. */
const withoutFormats = (schema: Fields): unknown =>
  JSON.parse(JSON.stringify(schema), function (this: Fields, key, value: unknown) {
    return key === 'format' && typeof value === 'string' && this['type'] === 'string' ? undefined : value
  })
