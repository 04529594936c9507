import * as E from 'fp-ts/lib/Either.js'
import type { ChatForm } from '../form.ts'
import type { Model, ModelRequest } from '../model.ts'
import { streamCall } from '../streaming/call.ts'
import { chatCallBody } from './body.ts'
import { type ChatMessage, currentChat, isUnbridged, namesIn } from './chat/chat.ts'
import { chunkReader } from './chunks.ts'
import type { OpenAiClient } from './client.ts'
import { openAiDialect, wantsBridge } from './dialect.ts'
import { withReadableErrors } from './error-body.ts'
import { chunksOf } from './plain.ts'

/** Options for an endpoint that differs from OpenAI's own. */
export interface OpenAiOptions {
  /** Name of the provider under which reasoning is stored. Default: the host of the client's `baseURL`. */
  readonly provider?: string | undefined
  /** Parameter that limits the reply's length. Default: `max_completion_tokens`; older servers accept only `max_tokens`. */
  readonly limit?: 'max_tokens' | 'max_completion_tokens' | undefined
  /** Role of the system prompt. Default: `system`, which every endpoint accepts. */
  readonly system?: 'system' | 'developer' | undefined
  /** True to request the usage of a stream (`stream_options`), which some servers refuse. Default true. */
  readonly usage?: boolean | undefined
  /**
   * True to insert an assistant message (`OK.`) between tool results and the user's text, because Mistral, and some templates, refuse
   * user text directly after tool results; false to never insert it. Default: inserted once the endpoint has refused such a request.
   */
  readonly bridge?: boolean | undefined
  /** True if the model accepts pictures; otherwise each is replaced with a note. `files` is the same for files. Default true. */
  readonly images?: boolean | undefined
  readonly files?: boolean | undefined
  /** Message field in which reasoning is sent back to its provider. Default: reasoning is stored but never sent. */
  readonly reasoning?: 'reasoning_content' | 'reasoning' | 'reasoning_details' | undefined
}

/**
 * Returns a model at an endpoint of OpenAI's Chat Completions API, called through a client of `openai`. Each call sends one request,
 * which the SDK does not retry. Requests are translated, and receipts cover the translation (`form`); content that the API cannot
 * represent is listed in `repairs`. Replies and events have the form of the Messages API. Details: docs/models.md.
 *
 * @example
 * import OpenAI from 'openai'
 * import { openAiModel } from 'palimpsest'
 *
 * const client = openAiModel(new OpenAI())
 * const local = openAiModel(new OpenAI({ baseURL: 'http://127.0.0.1:8080/v1' }), { limit: 'max_tokens' })
 */
export const openAiModel = (client: OpenAiClient, options: OpenAiOptions = {}): Model => {
  const provider = options.provider ?? hostOf(client.baseURL)
  let learned = formOf(options, provider)
  return {
    get form() {
      return learned
    },
    call: async (request, how = {}) => {
      const { form = learned } = how
      const reader = chunkReader(provider, namesIn(request), callsIn(request))
      const streamed = chatCallBody(request, form)
      const answer = await streamCall(
        {
          // An async function, so that the exception of a client that is not configured becomes a rejection.
          begin: async (signal) => {
            const { completions } = withReadableErrors(client).chat
            const begun = await completions.create(streamed, { signal, maxRetries: 0 }).withResponse()
            return { ...begun, data: chunksOf(begun) }
          },
          eventsOf: reader.eventsOf,
          ending: reader.ending,
          dialect: openAiDialect,
        },
        how,
      )
      if (E.isRight(answer) || answer.left._tag !== 'ModelFailed') return answer
      const isLearned = options.bridge === undefined && !form.bridge
      if (!isLearned || !wantsBridge(answer.left) || !speaksAfterTool(streamed)) return answer
      learned = { ...form, bridge: true }
      return E.left({ ...answer.left, retryable: false, form: learned })
    },
    countTokens: () =>
      Promise.resolve(
        E.left({
          _tag: 'ModelFailed',
          message:
            'Chat Completions has no endpoint for counting tokens: omit the client, and tokens are estimated from the usage of earlier replies',
          retryable: false,
        }),
      ),
  }
}

/** Returns the ids of the tool calls in a request. */
const callsIn = ({ messages }: ModelRequest): ReadonlySet<string> =>
  new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? block['id'] : [])),
    ),
  )

const speaksAfterTool = ({ messages }: ReturnType<typeof chatCallBody>): boolean => {
  const all = messages as readonly ChatMessage[]
  return all.some((message, index) => isUnbridged(all[index - 1], message))
}

const formOf = (
  { limit, system, usage, bridge, images, files, reasoning }: OpenAiOptions,
  provider: string,
): ChatForm => ({
  name: 'chat-completions',
  version: currentChat,
  ...(system === 'developer' && { system }),
  ...(limit === 'max_tokens' && { limit }),
  ...(usage === false && { usage }),
  ...(bridge === true && { bridge }),
  ...(images === false && { images }),
  ...(files === false && { files }),
  ...(reasoning && { reasoning: { provider, field: reasoning } }),
})

const hostOf = (url: string | undefined): string => (url && URL.canParse(url) ? new URL(url).host : 'openai')
