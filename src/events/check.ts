import * as E from 'fp-ts/lib/Either.js'
import type { z } from 'zod'
import { type InvalidInput, invalidInput } from './errors.ts'
import { copyJson, pathText } from './json.ts'

/**
 * Checks a value against a schema and returns **the value itself**, typed: zod's own output would lose unknown fields
 * and `__proto__` keys.
 */
export const check = <S extends z.ZodType>(schema: S, value: unknown): E.Either<InvalidInput, z.infer<S>> => {
  const { error } = schema.safeParse(value)
  const issue = error?.issues[0]
  return issue ? E.left(invalidInput(pathText(issue.path), issue.message)) : E.right(value as z.infer<S>)
}

/** As `check`, of a value that must also be JSON; what is returned shares nothing with what was given. */
export const checkJson = <S extends z.ZodType>(
  schema: S,
  value: unknown,
): E.Either<InvalidInput, z.infer<S>> => {
  if (value === undefined) return check(schema, value)
  const copied = copyJson(value)
  return E.isLeft(copied)
    ? E.left(invalidInput(copied.left.path, copied.left.problem))
    : check(schema, copied.right)
}
