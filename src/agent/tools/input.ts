import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { pathText } from '../../events/json.ts'
import type { OutputOf, SchemaIssue, StandardSchema } from './standard-schema.ts'

/** Validates an input against a schema; `InvalidInput`, worded for the model, if the input does not match. */
export const checkInput = async <S extends StandardSchema>(
  schema: S,
  tool: string,
  input: unknown,
): Promise<E.Either<InvalidInput, OutputOf<S>>> => {
  const result = await schema['~standard'].validate(input)
  if (!result.issues) return E.right(result.value)
  const problems = result.issues.slice(0, most).map((issue) => `- ${problemText(issue)}`)
  const head = `the input does not fit the schema of ${tool}, so nothing was run:`
  const end = `Correct it and call ${tool} again.`
  return E.left(invalidInput('', [head, ...problems, end].join('\n')))
}

/** Maximum number of reported problems, and of reported branches of a union. */
const most = 10

const problemText = (issue: SchemaIssue): string => {
  const path = pathText((issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part)))
  const ways = waysOf(issue)
  const problem = ways.length > 0 ? ways.map(problemText).join(', or ') : issue.message
  return path === '' ? problem : `${path}: ${problem}`
}

/** Returns the first issue of each branch of a union, because zod's own message says only that the union does not match. */
const waysOf = (issue: SchemaIssue & { readonly errors?: unknown }): readonly SchemaIssue[] =>
  Array.isArray(issue.errors)
    ? (issue.errors as readonly (readonly SchemaIssue[])[]).slice(0, most).flatMap(([first]) => first ?? [])
    : []
