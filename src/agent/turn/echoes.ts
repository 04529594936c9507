import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { withoutEchoes } from '../../events/secrets.ts'
import { errorText } from '../models/error-text.ts'
import type { ModelError, Reply } from '../models/model.ts'

type Secrets = ReadonlyMap<string, string>

/**
 * Removes the request's secrets from the result of a model call, because an API may quote the content that it refuses, and errors are
 * recorded and logged. The model's own content stays verbatim.
 */
export const redactAnswer = (
  reply: E.Either<ModelError, Reply>,
  secrets: Secrets,
): E.Either<ModelError, Reply> => {
  if (secrets.size === 0) return reply
  return E.isRight(reply) ? E.right(replyOf(reply.right, secrets)) : E.left(redactError(reply.left, secrets))
}

const replyOf = ({ content, origin }: Reply, secrets: Secrets): Reply => ({
  content,
  origin: withoutEchoes(origin, secrets),
})

export const redactError = <A extends ModelError>(error: A, secrets: Secrets): A => {
  if (secrets.size === 0) return error
  const { _tag, cause, partial, ...facts } = error
  return {
    ...error,
    ...withoutEchoes(facts, secrets),
    ...(partial && { partial: replyOf(partial, secrets) }),
    ...(cause !== undefined && { cause: causeOf(cause, secrets) }),
  }
}

/**
 * Returns the cause of an error without secrets. The client's error repeats the response in many places. If any of these contains a
 * secret, only the error's text is kept, with the secret removed.
 */
const causeOf = (cause: unknown, secrets: Secrets): unknown => {
  const told = shownOf(cause)
  const text = errorText(cause)
  return withoutEchoes(told, secrets) === told ? cause : new Error(withoutEchoes(text, secrets))
}

const shownOf = (cause: unknown): string => {
  try {
    return inspect(cause, { depth: 8, showHidden: false, maxStringLength: null, maxArrayLength: null })
  } catch {
    return errorText(cause)
  }
}
