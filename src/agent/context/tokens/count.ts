import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { invalidInput } from '../../../events/errors.ts'
import { configurationOf } from '../../../projections/effective.ts'
import { render } from '../../../projections/render/renderer.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { PositionOption } from '../../../conversation/reading/conversation-reader.ts'
import type { ReadError } from '../../../store/errors.ts'
import { checkOptions, kinds } from '../../../store/options.ts'
import { type AnthropicClient, anthropicModel } from '../../models/anthropic/model.ts'
import { guardModel } from '../../models/guard-model.ts'
import type { Model, ModelError } from '../../models/model.ts'
import { requestWith } from '../../models/request.ts'
import { unwrap, type Fallible, task } from '../../../result/fallible.ts'
import { countTokens, type TokenCount } from './tokens.ts'

export interface CountOptions extends PositionOption {
  /** SDK client or other `Model` that also counts the tokens. */
  readonly client?: AnthropicClient | Model | undefined
  /** Model to count for, if the conversation has no configured model. */
  readonly model?: string | undefined
}

/** Token count of the next request according to the log and, if a client was given, also according to the API. */
export interface TokenReport extends TokenCount {
  /**
   * Token count by the API, present only if the model is to reply next: the API does not count a request that is empty or ends in a
   * reply. After a reply with usage, `total` is already the API's count.
   */
  readonly exact?: number
}

/** Reports whether a value looks like an SDK client or a `Model`. */
export const isClient = (value: unknown): boolean => {
  // Functions are excluded, because every function has a `call` method.
  if (typeof value !== 'object' || value === null) return false
  const {
    call,
    messages,
  }: { readonly call?: unknown; readonly messages?: { readonly create?: unknown } | null } = value
  return typeof call === 'function' || typeof messages?.create === 'function'
}
export const noClient =
  'must be a client: pass new Anthropic(), openAiModel(new OpenAI()), or a Model with a method call'

export const modelOf = (client: AnthropicClient | Model): Model =>
  'call' in client ? guardModel(client) : anthropicModel(client)

/**
 * Counts the tokens of a conversation's next request from the log and, if a client is given and the model is to reply next, also with
 * the API.
 */
export const tokensOf = (
  chat: ConversationHandle,
  options?: CountOptions,
): TaskEither<ReadError | ModelError, TokenReport> => task(() => counted(chat, options))

async function* counted(
  chat: ConversationHandle,
  options: CountOptions | undefined,
): Fallible<ReadError | ModelError, TokenReport> {
  const fields = { at: kinds.position, client: kinds.anything, model: kinds.text }
  const { at, client, model } = yield* unwrap(checkOptions(options, fields))
  if (client !== undefined && !isClient(client)) return yield invalidInput('client', noClient)
  const context = yield* unwrap(chat.context(at === undefined ? {} : { at }))
  const count = countTokens(context)
  if (!client) return count
  const rendered = render(context)
  if (rendered.awaits !== 'model') return count
  const named = model ?? configurationOf(context).model ?? count.model ?? ''
  const request = requestWith(rendered, { model: named, parameters: {} })
  return { ...count, exact: yield* unwrap(modelOf(client).countTokens(request)) }
}
