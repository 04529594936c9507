import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { type InvalidInput, invalidInput } from './errors.ts'
import { copyJson, pathText } from './json.ts'
import { unknownField } from './nearest.ts'
import { inPlainWords } from './plain-words.ts'

/**
 * Checks a value against a schema and returns **the value itself**, typed: zod's own output would lose unknown fields
 * and `__proto__` keys.
 */
export const check = <S extends z.ZodType>(schema: S, value: unknown): E.Either<InvalidInput, z.infer<S>> =>
  E.map(() => value as z.infer<S>)(parseWith(schema, value))

/** Checks a value like `check`, but returns the schema's output for it. */
export const parseWith = <S extends z.ZodType>(
  schema: S,
  value: unknown,
): E.Either<InvalidInput, z.infer<S>> => {
  const { data, error } = schema.safeParse(value)
  const issues = (error?.issues ?? []).map(deepest)
  // A misspelt required field is also reported as missing, so the unknown field takes precedence.
  const first = issues.find(({ keys }) => keys !== undefined) ?? issues[0]
  const issue = first && named(first, schema, value)
  return issue
    ? E.left(invalidInput(pathText(issue.path), inPlainWords(issue.message)))
    : E.right(data as z.infer<S>)
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
}

/** Adds an unknown field to the issue's path and suggests the field that was probably meant, if the object's schema is known. */
const named = ({ path, message, keys }: Issue, schema: z.ZodType, value: unknown): Issue => {
  const [key] = keys ?? []
  if (key === undefined) return { path, message }
  const known = fieldsIn(path.reduce(inside, { schema, value }))
  return { path: [...path, key], message: known ? unknownField(key, known) : 'is unknown' }
}

/** A value and the schema that it must match; undefined if several schemas are possible. */
interface Checked {
  readonly schema: z.ZodType | undefined
  readonly value: unknown
}

/** Returns the schema without wrappers. Of a union whose branches are tagged, returns the branch with the tag of the value. */
const bare = ({ schema, value }: Checked): z.ZodType | undefined => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodExactOptional)
    return bare({ schema: schema.unwrap() as z.ZodType, value })
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema
  const { discriminator } = schema.def
  const tag: unknown = Reflect.get(Object(value), discriminator)
  return (schema.options as readonly z.ZodType[]).find(
    (each) => each instanceof z.ZodObject && (each.shape[discriminator] as z.ZodType).safeParse(tag).success,
  )
}

const fieldsIn = (checked: Checked): readonly string[] | undefined => {
  const object = bare(checked)
  return object instanceof z.ZodObject ? Object.keys(object.shape) : undefined
}

/** Returns a field or an element of a value, with its schema. */
const inside = (checked: Checked, key: PropertyKey): Checked => {
  const outer = bare(checked)
  const value: unknown = Reflect.get(Object(checked.value), key)
  if (outer instanceof z.ZodObject)
    return { schema: outer.shape[String(key)] as z.ZodType | undefined, value }
  return { schema: outer instanceof z.ZodArray ? (outer.element as z.ZodType) : undefined, value }
}

/** Returns the issue of the union branch that matches best, that is, fails deepest. If only the type is wrong, names all types. */
const deepest = (issue: z.core.$ZodIssue): Issue => {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.flatMap(([first]) => (first ? [deepest(first)] : []))
  const [best] = inner.toSorted((a, b) => b.path.length - a.path.length)
  if (best && best.path.length > 0) return { ...best, path: [...issue.path, ...best.path] }
  const wrong = inner.flatMap(({ message }) => [
    ...message.matchAll(/^Invalid input: expected (\S+), received (\w+)$/g),
  ])
  const [[, , received] = []] = wrong
  if (received === undefined || wrong.length < inner.length) return issue
  const types = wrong.map(([, expected]) => expected).join('|')
  return { path: issue.path, message: `Invalid input: expected ${types}, received ${received}` }
}

/**
 * Checks a value like `check`, and also that it is JSON. The result is a copy that shares nothing with the input.
 *
 * @param own further fields of the result, which are not copied: no other code may hold a reference to them
 */
export const checkJson = <S extends z.ZodType>(
  schema: S,
  value: unknown,
  own?: object,
): E.Either<InvalidInput, z.infer<S>> => {
  if (value === undefined) return check(schema, value)
  const copied = copyJson(value)
  return E.isLeft(copied)
    ? E.left(invalidInput(copied.left.path, copied.left.problem))
    : check(schema, own ? { ...(copied.right as object), ...own } : copied.right)
}
