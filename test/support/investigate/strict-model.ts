import * as E from 'fp-ts/lib/Either.js'
import type { Model, Reply } from '../../../src/agent/models/model.ts'
import { createAnswers } from '../../../src/testing/messages-api/answers.ts'
import type { MessagesApiOptions } from '../../../src/testing/messages-api/server.ts'

/** The strict stand-in for the Messages API as a model of this process: the same rules and counts, without a server between. */
export const strictModel = (options: MessagesApiOptions): Model => {
  const answer = createAnswers(options)
  return {
    call: async ({ parameters, ...request }) => {
      const answered = await answer({ ...parameters, ...request }, false)
      if (!('message' in answered)) throw new Error(JSON.stringify(answered))
      const { content, usage, id, model, stop_reason: stopReason } = answered.message
      const origin = { model, usage: { ...usage }, requestId: id, stopReason }
      return E.right({ content: content as Reply['content'], origin })
    },
    countTokens: async () => E.left({ _tag: 'ModelFailed', message: 'not counted' }),
  }
}
