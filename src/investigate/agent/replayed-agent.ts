import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { modelOf } from '../../agent/context/tokens/count.ts'
import type { Model, ModelError, ModelRequest, Reply } from '../../agent/models/model.ts'
import type { Conversation } from '../../api/promises.ts'
import { toError } from '../../result/typed-error.ts'
import type { ResolvedTurnOptions, TurnOptions } from '../../agent/turn/options.ts'
import { settle } from '../../agent/turn/settle.ts'

/** Options of an agent's turns. The client is optional; only its form and beta features are used. */
export interface AgentOptions extends Omit<TurnOptions, 'client'> {
  readonly client?: TurnOptions['client'] | undefined
}

/** An agent, given as the options of its turns or as a function that returns them, like a worker's `turn`. */
export type ReplayedAgent =
  | AgentOptions
  | ((served: { readonly id: string; readonly chat: Conversation }) => AgentOptions | Promise<AgentOptions>)

const isAgent = (value: unknown): boolean => ['function', 'object'].includes(typeof value) && value !== null

export const agentSchema = z.custom<ReplayedAgent>(isAgent, {
  error: 'must be the options of a turn, or a function that returns them',
})

/** Function that answers a request in place of a model. */
export type ReplayResponder = (request: ModelRequest) => E.Either<ModelError, Reply>

/** Settings of an agent for one turn. */
export interface AgentSettings {
  readonly options: AgentOptions
  readonly settled: ResolvedTurnOptions
  /** Runs `work` while `answer` replies to the requests of the agent's summarizer. At any other time, requests fail. */
  readonly answering: <A>(answer: ReplayResponder, work: () => Promise<A>) => Promise<A>
}

/**
 * Resolves an agent's options for a turn without providing a model to call. Throws the errors with which a turn rejects invalid
 * options, such as `InvalidInput`.
 */
export const agentSettings = (options: AgentOptions): AgentSettings => {
  let answer: ReplayResponder = () => E.left(nobody)
  const { betas, form } = options?.client === undefined ? {} : modelOf(options.client)
  const client: Model = {
    ...(betas && { betas }),
    ...(form && { form }),
    call: async (request) => answer(request),
    countTokens: async () => E.left(nobody),
  }
  const settled = settle({ ...options, client })
  if (E.isLeft(settled)) throw toError(settled.left)
  return {
    options,
    settled: settled.right,
    answering: async (given, work) => {
      answer = given
      try {
        return await work()
      } finally {
        answer = () => E.left(nobody)
      }
    },
  }
}

const nobody: ModelError = { _tag: 'ModelFailed', message: 'a replay calls no model' }
