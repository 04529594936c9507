import Anthropic, { APIError } from '@anthropic-ai/sdk'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { atEnd } from '../at-end.ts'
import { text } from '../log.ts'
import {
  messagesApi,
  type MessagesApi,
  type MessagesApiOptions,
} from '../../../src/testing/messages-api/server.ts'

// The stand-in with the SDK as its client, for the tests of the stand-in itself.

export type Params = Anthropic.MessageCreateParamsNonStreaming
export type Messages = readonly {
  readonly role: string
  readonly content?: unknown
  readonly output_config?: unknown
}[]

/** A server until the end of the test, and a client that asks it once. */
export const start = async (
  options: MessagesApiOptions = {},
): Promise<{ api: MessagesApi; client: Anthropic }> => {
  const api = await messagesApi(options)
  atEnd(api.close)
  return { api, client: new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 }) }
}

export const opus = 'claude-opus-5-5'
/** A model that takes a prefill, and no system messages. */
export const haiku = 'claude-haiku-4-5'

export const asks = (...content: readonly AnyBlock[]) => ({ role: 'user', content })
export const says = (...content: readonly AnyBlock[]) => ({ role: 'assistant', content })
export const hello = asks(text('Hello.'))
export const yes = says(text('Yes.'))

/** Parameters that may break every rule. */
export const params = (messages: Messages, more: Readonly<Record<string, unknown>> = {}): Params =>
  ({ model: opus, max_tokens: 1_000, messages, ...more }) as unknown as Params

/** The error with which a request ends. */
export const refusal = async (asked: Promise<unknown>): Promise<APIError> => {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof APIError)) throw new Error(`not refused: ${String(error)}`)
  return error
}
