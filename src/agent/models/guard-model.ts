import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { checkJson } from '../../events/check.ts'
import { messageSchema, originSchema } from '../../events/events.ts'
import { modelAborted, orAborted } from './abort.ts'
import type { Model, ModelFailed } from './model.ts'

const replySchema = z.object({ content: messageSchema.shape.content, origin: originSchema })
const isEither = (value: unknown): value is E.Either<unknown, unknown> =>
  typeof value === 'object' && value !== null && '_tag' in value

/** Wraps a user-supplied model: a call ends when its signal aborts, and the model's replies and token counts are checked. */
export const guardModel = (model: Model): Model => ({
  ...model,
  // A getter, because the form may change: later requests use the form that the model has learned.
  get form() {
    return model.form
  },
  call: async (request, options = {}) => {
    const { signal } = options
    try {
      // A copy, because the model may change its argument.
      const asked = model.call(structuredClone(request), options)
      const answer: unknown = await orAborted(asked, signal)
      if (isFailure(answer)) return answer as Awaited<typeof asked>
      const reply = checkJson(replySchema, valueOf(answer))
      return E.isRight(reply) ? E.right(reply.right) : E.left(failed(reply.left.message))
    } catch (cause) {
      return E.left(signal?.aborted ? modelAborted(signal) : failed('it threw', cause))
    }
  },
  countTokens: async (request) => {
    try {
      const asked = model.countTokens(structuredClone(request))
      const answer: unknown = await asked
      if (isFailure(answer)) return answer as Awaited<typeof asked>
      const count = valueOf(answer)
      const isCount = typeof count === 'number' && count >= 0 && count < Infinity
      return isCount ? E.right(count) : E.left(notCounted('it did not return a number of tokens'))
    } catch (cause) {
      return E.left(notCounted('it threw', cause))
    }
  },
})

const isFailure = (answer: unknown): boolean =>
  isEither(answer) && answer._tag === 'Left' && isEither(answer.left)
/** Unwraps the Right of an Either; returns any other answer unchanged. */
const valueOf = (answer: unknown): unknown => (isEither(answer) && E.isRight(answer) ? answer.right : answer)

const failed = (problem: string, cause?: unknown): ModelFailed =>
  modelFailed(`the model returned no reply (${problem}): no reply was recorded; fix the Model`, cause)
const notCounted = (problem: string, cause?: unknown): ModelFailed =>
  modelFailed(`the model's countTokens failed (${problem}): fix the Model, or omit the client`, cause)
const modelFailed = (message: string, cause: unknown): ModelFailed => ({
  _tag: 'ModelFailed',
  message,
  ...(cause !== undefined && { cause }),
})
