import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { modelOf } from '../../agent/context/tokens/count.ts'
import type { Model, ModelError, ModelRequest, Reply } from '../../agent/models/model.ts'
import type { Conversation } from '../../api/promises.ts'
import { toError } from '../../result/typed-error.ts'
import type { ResolvedTurnOptions, TurnOptions } from '../../agent/turn/options.ts'
import { settle } from '../../agent/turn/settle.ts'

/** The options of a turn. The client is optional and used only for its form and its beta features. */
export interface AgentOptions extends Omit<TurnOptions, 'client'> {
  readonly client?: TurnOptions['client'] | undefined
}

/** An agent: the options of its turns, or a function that returns them, like `turn` of a worker. */
export type ReplayedAgent =
  | AgentOptions
  | ((served: { readonly id: string; readonly chat: Conversation }) => AgentOptions | Promise<AgentOptions>)

const isAgent = (value: unknown): boolean => ['function', 'object'].includes(typeof value) && value !== null

export const agentSchema = z.custom<ReplayedAgent>(isAgent, {
  error: 'must be the options of a turn, or a function that returns them',
})

/** Answers a request in place of a model. */
export type ReplayResponder = (request: ModelRequest) => E.Either<ModelError, Reply>

/** Settings of an agent for one turn. */
export interface AgentSettings {
  readonly options: AgentOptions
  readonly settled: ResolvedTurnOptions
  /** Answers the requests of the agent's summarizer with `answer` while `work` runs; no other request is answered. */
  readonly answering: <A>(answer: ReplayResponder, work: () => Promise<A>) => Promise<A>
}

/**
 * Resolves the options of an agent for a turn, with no model to call. Throws `InvalidInput` and other errors with which a turn rejects
 * options.
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
