import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { invalidInput } from '../../events/errors.ts'
import { configurationOf } from '../../projections/effective.ts'
import { render } from '../../projections/render/renderer.ts'
import type { At, Conversation } from '../../conversation/conversation.ts'
import type { ReadError } from '../../store/errors.ts'
import { checkedOptions, kinds } from '../../store/options.ts'
import { type AnthropicClient, anthropicModel } from '../../models/anthropic/model.ts'
import { guarded } from '../../models/guarded.ts'
import type { Model, ModelError } from '../../models/model.ts'
import { countTokens, type TokenCount } from './tokens.ts'

export interface CountOptions extends At {
  /** Ask the API too: its client, or any other `Model`. */
  readonly client?: AnthropicClient | Model
  /** The model to count for, where none is configured. */
  readonly model?: string
}

/** Tokens by the log, and by the API if it was asked. */
export interface Counted extends TokenCount {
  /**
   * Only where the model is awaited: the API counts no request that is empty or ends in a reply. After a reply that has its usage,
   * `total` is what the API counted.
   */
  readonly exact?: number
}

/** Whether this can be a client, or a `Model`. */
export const isClient = (value: unknown): boolean => {
  // A function has a `call`, too.
  if (typeof value !== 'object' || value === null) return false
  const {
    call,
    messages,
  }: { readonly call?: unknown; readonly messages?: { readonly create?: unknown } | null } = value
  return typeof call === 'function' || typeof messages?.create === 'function'
}
export const noClient = 'is no client: pass new Anthropic(), or a Model with a method call'

export const modelOf = (client: AnthropicClient | Model): Model =>
  'call' in client ? guarded(client) : anthropicModel(client)

/** How many tokens the next request of a conversation is to the model: counted from the log, and exactly where a client is given and the model is awaited. */
export const tokensOf =
  (chat: Conversation, options?: CountOptions): TaskEither<ReadError | ModelError, Counted> =>
  async () => {
    const given = checkedOptions(options, { at: kinds.position, client: kinds.anything, model: kinds.text })
    if (E.isLeft(given)) return given
    const { at, client, model } = given.right
    if (client !== undefined && !isClient(client)) return E.left(invalidInput('client', noClient))
    const view = await chat.view(at === undefined ? {} : { at })()
    if (E.isLeft(view)) return view
    const count = countTokens(view.right)
    if (!client) return E.right(count)
    const rendered = render(view.right)
    if (rendered.awaits !== 'model') return E.right(count)
    const { system, tools, tool_choice, messages } = rendered
    const request = {
      model: model ?? configurationOf(view.right).model ?? count.model ?? '',
      parameters: { ...(tool_choice && { tool_choice }) },
      ...(system !== undefined && { system }),
      ...(tools && { tools }),
      messages,
    }
    return E.map((exact: number) => ({ ...count, exact }))(await modelOf(client).countTokens(request))
  }
