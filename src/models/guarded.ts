import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { checkJson } from '../events/check.ts'
import { messageSchema, originSchema } from '../events/events.ts'
import { abortedBy, orAborted } from './aborted.ts'
import type { Model, ModelFailed } from './model.ts'

const replySchema = z.object({ content: messageSchema.shape.content, origin: originSchema })
const isEither = (value: unknown): value is E.Either<unknown, unknown> =>
  typeof value === 'object' && value !== null && '_tag' in value

/** A model that somebody else wrote: a call ends when the signal aborts, and its answer is checked. */
export const guarded = (model: Model): Model => ({
  ...model,
  call: async (request, options = {}) => {
    const { signal } = options
    try {
      // A copy: the model may change what it is given.
      const asked = model.call(structuredClone(request), options)
      const answer: unknown = await orAborted(asked, signal)
      if (isEither(answer) && answer._tag === 'Left' && isEither(answer.left))
        return answer as Awaited<typeof asked>
      const reply = checkJson(replySchema, isEither(answer) && E.isRight(answer) ? answer.right : answer)
      return E.isRight(reply) ? E.right(reply.right) : E.left(failed(reply.left.message))
    } catch (cause) {
      return E.left(signal?.aborted ? abortedBy(signal) : failed('it threw', cause))
    }
  },
})

const failed = (problem: string, cause?: unknown): ModelFailed => ({
  _tag: 'ModelFailed',
  message: `the model gave no reply (${problem}): no reply was recorded; fix the Model`,
  ...(cause !== undefined && { cause }),
})
