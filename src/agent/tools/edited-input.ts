import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { type Fields, isFields, pathText } from '../../events/json.ts'

/**
 * Checks a tool input that a person edited against the tool's JSON Schema, as shown to the model. Only the keywords handled in this
 * file are checked; others are left to the tool. Patterns are not checked either, because matching a pattern from an untrusted server
 * may take forever.
 *
 * @param tools definitions as configured
 */
export const checkEditedInput = (
  tools: readonly unknown[],
  name: string,
  input: Fields,
): E.Either<InvalidInput, Fields> => {
  const schema = tools.filter(isFields).find((each) => each['name'] === name)?.['input_schema']
  const problem = problemIn({ root: schema, looks: 0, deep: 0 }, schema, input, ['input'])
  if (!problem) return E.right(input)
  const { path, what } = problem
  return E.left(invalidInput(pathText(path), `${what} (according to the schema of ${name})`))
}

interface Problem {
  readonly path: readonly PropertyKey[]
  readonly what: string
}

/**
 * Maximum number of schemas visited; `mostDeep` is the maximum depth. Without these limits, the check of a schema that refers to itself
 * might not end.
 */
const mostLooks = 10_000
const mostDeep = 200

type Look = { readonly root: unknown; looks: number; deep: number }
type Check = (look: Look, schema: unknown, value: unknown, path: Problem['path']) => Problem | undefined

const problemIn: Check = (look, schema, value, path) => {
  if (schema === false) return { path, what: 'is not allowed' }
  if (!isFields(schema) || ++look.looks > mostLooks || look.deep >= mostDeep) return undefined
  look.deep++
  const problem = problemAt(look, schema, value, path)
  look.deep--
  return problem
}

const problemAt = (
  look: Look,
  schema: Fields,
  value: unknown,
  path: Problem['path'],
): Problem | undefined => {
  const what = plainProblem(schema, value)
  if (what !== undefined) return { path, what }
  const { $ref, allOf, anyOf, oneOf } = schema
  if (typeof $ref === 'string') {
    const problem = problemIn(look, referredTo(look.root, $ref), value, path)
    if (problem) return problem
  }
  for (const each of listOf(allOf)) {
    const problem = problemIn(look, each, value, path)
    if (problem) return problem
  }
  for (const ways of [listOf(anyOf), listOf(oneOf)]) {
    const problems = ways.map((way) => problemIn(look, way, value, path))
    if (problems.length > 0 && problems.every((problem) => problem)) return problems[0]
  }
  if (Array.isArray(value)) return problemInItems(look, schema, value, path)
  return isFields(value) ? problemInFields(look, schema, value, path) : undefined
}

const problemInItems = (
  look: Look,
  { items, prefixItems }: Fields,
  value: readonly unknown[],
  path: Problem['path'],
): Problem | undefined => {
  const first = listOf(prefixItems)
  for (const [index, each] of value.entries()) {
    const problem = problemIn(look, index < first.length ? first[index] : items, each, [...path, index])
    if (problem) return problem
  }
  return undefined
}

const problemInFields = (
  look: Look,
  { properties, required, additionalProperties, patternProperties }: Fields,
  value: Fields,
  path: Problem['path'],
): Problem | undefined => {
  const missing = listOf(required).find(
    (name): name is string => typeof name === 'string' && !Object.hasOwn(value, name),
  )
  if (missing !== undefined) return { path: [...path, missing], what: 'is missing' }
  const known = isFields(properties) ? properties : {}
  const others = patternProperties === undefined ? additionalProperties : undefined
  for (const [name, each] of Object.entries(value)) {
    const problem = problemIn(look, Object.hasOwn(known, name) ? known[name] : others, each, [...path, name])
    if (problem) return problem
  }
  return undefined
}

/**
 * Describes how a value violates the schema's type, constants or bounds; undefined if it does not. Values inside the value are not
 * checked.
 */
const plainProblem = (schema: Fields, value: unknown): string | undefined => {
  const types = typeof schema['type'] === 'string' ? [schema['type']] : listOf(schema['type'])
  if (types.length > 0 && !types.some((type) => isOf(type, value)))
    return `is not of type ${types.join(', ')}`
  if (Array.isArray(schema['enum']) && !schema['enum'].some((one) => isDeepStrictEqual(one, value)))
    return `is not one of ${JSON.stringify(schema['enum'])}`
  if ('const' in schema && !isDeepStrictEqual(schema['const'], value))
    return `is not ${JSON.stringify(schema['const'])}`
  return boundsOf(value).flatMap(([size, name, least, most]) => outOf(schema, { size, name, least, most }))[0]
}

interface Bounds {
  readonly size: number
  readonly name: string
  readonly least: string
  readonly most: string
}

const boundsOf = (value: unknown): readonly (readonly [number, string, string, string])[] => {
  if (typeof value === 'number')
    return [
      [value, '', 'minimum', 'maximum'],
      [value, '', 'exclusiveMinimum', 'exclusiveMaximum'],
    ]
  if (typeof value === 'string') return [[Array.from(value).length, 'a length ', 'minLength', 'maxLength']]
  if (Array.isArray(value)) return [[value.length, 'a length ', 'minItems', 'maxItems']]
  return []
}

const outOf = (schema: Fields, { size, name, least, most }: Bounds): readonly string[] => {
  const [from, to] = [schema[least], schema[most]]
  const isExclusive = least.startsWith('exclusive')
  const words = isExclusive ? (['above', 'below'] as const) : (['of at least', 'of at most'] as const)
  return [
    ...(typeof from === 'number' && (size < from || (isExclusive && size === from))
      ? [`needs ${name || 'a value '}${words[0]} ${from}`]
      : []),
    ...(typeof to === 'number' && (size > to || (isExclusive && size === to))
      ? [`needs ${name || 'a value '}${words[1]} ${to}`]
      : []),
  ]
}

const isOf = (type: unknown, value: unknown): boolean => {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isFields(value)
  if (type === 'integer') return Number.isInteger(value)
  // A type that no version of JSON Schema defines is not a reason to refuse.
  return !['string', 'number', 'boolean'].includes(String(type)) || typeof value === type
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns the part of the schema that a reference such as `#/$defs/name` points to; undefined if it does not exist. */
const referredTo = (root: unknown, ref: string): unknown => {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  return ref
    .slice(2)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (at, part) =>
        (isFields(at) || Array.isArray(at)) && Object.hasOwn(at, part) ? (at as Fields)[part] : undefined,
      root,
    )
}
