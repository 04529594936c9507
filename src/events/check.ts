import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { type InvalidInput, invalidInput } from './errors.ts'
import { copyJson, pathText } from './json.ts'
import { unknownField } from './nearest.ts'

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
  const issue = first && named(first, schema)
  return issue
    ? E.left(invalidInput(pathText(issue.path), inPlainWords(issue.message)))
    : E.right(data as z.infer<S>)
}

const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** Replaces zod's message about a wrong type or choice by one for people; any other message stays. */
const inPlainWords = (message: string): string => {
  const choices = /^Invalid option: expected one of (.*)$/.exec(message)?.[1]
  if (choices !== undefined) return `must be one of ${choices.replaceAll('"', '').split('|').join(', ')}`
  const [, expected = '', received = ''] =
    /^Invalid input: expected (\w+), received (\w+)$/.exec(message) ?? []
  const must = nouns[expected]
  if (must === undefined) return message
  return received === 'undefined'
    ? `is missing: it must be ${must}`
    : `must be ${must}, not ${nouns[received] ?? received}`
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
}

/** Adds an unknown field to the issue's path and suggests the field that was probably meant, if the object's schema is known. */
const named = ({ path, message, keys }: Issue, schema: z.ZodType): Issue => {
  const [key] = keys ?? []
  if (key === undefined) return { path, message }
  const known = fieldsIn(path.reduce(inside, schema))
  return { path: [...path, key], message: known ? unknownField(key, known) : 'is unknown' }
}

const bare = (schema: z.ZodType | undefined): z.ZodType | undefined =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodExactOptional
    ? bare(schema.unwrap() as z.ZodType)
    : schema

const fieldsIn = (schema: z.ZodType | undefined): readonly string[] | undefined => {
  const object = bare(schema)
  return object instanceof z.ZodObject ? Object.keys(object.shape) : undefined
}

/** Returns the schema of a field or an element; undefined if it depends on the value. */
const inside = (schema: z.ZodType | undefined, key: PropertyKey): z.ZodType | undefined => {
  const outer = bare(schema)
  if (outer instanceof z.ZodObject) return outer.shape[String(key)] as z.ZodType | undefined
  return outer instanceof z.ZodArray ? (outer.element as z.ZodType) : undefined
}

/** Returns the issue of the union branch that matches best, that is, fails deepest. */
const deepest = (issue: z.core.$ZodIssue): Issue => {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.flatMap(([first]) => (first ? [deepest(first)] : []))
  const [best] = inner.toSorted((a, b) => b.path.length - a.path.length)
  return best && best.path.length > 0 ? { ...best, path: [...issue.path, ...best.path] } : issue
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
