import OpenAI, { AzureOpenAI } from 'openai'
import { describe, expect, it } from 'vitest'
import { refusalOf } from '../../../src/agent/context/policy/refusal.ts'
import { summarizer } from '../../../src/agent/context/summary/summarizer.ts'
import { type OpenAiOptions, openAiModel } from '../../../src/agent/models/openai/model.ts'
import { openStore } from '../../../src/index.ts'
import { effective } from '../../../src/projections/effective.ts'
import type { ChatFailure, Manners } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'
import { assistant, logOf, user } from '../../support/log.ts'

/** How the bodies of errors look that are not OpenAI's. */
const forms = {
  wrapped: (error) => ({ error }),
  flat: (error) => ({ object: 'error', ...error }),
  list: (error) => [{ error }],
  text: ({ message, code }) => ({ code, error: message }),
  detail: ({ message }) => ({ detail: message }),
  repeated: (error) => ({
    error: { message: 'Provider returned error', code: 400, metadata: { raw: JSON.stringify(error) } },
  }),
  none: () => undefined,
} satisfies Record<string, NonNullable<Manners['errorBody']>>
type Form = keyof typeof forms

interface Told {
  readonly status?: number
  readonly type?: string
  readonly code?: string
}

/** The error of a call that an endpoint refuses with these words, read through the SDK. */
const refusedWith = async (
  message: string,
  { status = 400, type = 'invalid_request_error', code }: Told,
  form: Form = 'wrapped',
) => {
  const api = await chatCompletions({
    reply: () => ({ status, type, message, ...(code !== undefined && { code }) }),
    models: { any: { errorBody: forms[form] } },
  })
  atEnd(api.close)
  const client = openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'any' }))
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }] as const
  return left(await client.call({ model: 'any', messages, parameters: {} }))
}

/** Counts: tokens of the request and of the window, if both are named. */
type Case = readonly [
  who: string,
  message: string,
  counts?: readonly [number, number] | undefined,
  told?: Told,
  form?: Form,
]

// Found in issues, sources and tests of public repositories; those of `unseen` in none under the name that they were given to us with.
const wordings: readonly Case[] = [
  [
    'OpenAI',
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    [9_000, 8_192],
    { code: 'context_length_exceeded' },
  ],
  [
    'OpenAI, as its Responses API says it',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
  ],
  [
    'OpenAI, of a configured limit',
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.',
    [509_178, 272_000],
  ],
  [
    'vLLM',
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
    [4_000, 4_096],
    { type: 'BadRequestError' },
    'flat',
  ],
  [
    'vLLM, of a prompt alone',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
    undefined,
    { type: 'BadRequestError' },
  ],
  [
    'llama.cpp',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    undefined,
    { type: 'exceed_context_size_error' },
  ],
  [
    'Groq',
    'Please reduce the length of the messages or completion.',
    undefined,
    { code: 'context_length_exceeded' },
  ],
  [
    'Together',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 200 `max_new_tokens`',
    [4_000, 4_097],
    { status: 422 },
  ],
  [
    'Text Generation Inference',
    'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000',
    [5_000, 4_096],
    { status: 422, type: 'validation' },
    'text',
  ],
  [
    'OpenRouter',
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (40000 of text input).",
    [40_000, 32_768],
  ],
  [
    'OpenRouter, of what a provider said',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    [40_000, 32_768],
    {},
    'repeated',
  ],
  [
    'Poolside',
    'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    [131_393, 131_040],
  ],
  [
    'xAI',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    [537_812, 131_072],
    { code: 'Client specified an invalid argument' },
    'text',
  ],
  [
    'Gemini',
    'The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).',
    [1_196_265, 1_048_576],
    { type: 'INVALID_ARGUMENT' },
    'list',
  ],
  [
    'GitHub Copilot',
    'prompt token count of 140000 exceeds the limit of 128000',
    [140_000, 128_000],
    { code: 'model_max_prompt_tokens_exceeded' },
  ],
  [
    'LM Studio',
    'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    undefined,
    {},
    'text',
  ],
  [
    'LM Studio, with counts',
    'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    [13_055, 4_096],
    {},
    'text',
  ],
  [
    'LM Studio, of its loaded context',
    'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
    [9_000, 4_096],
    {},
    'text',
  ],
  [
    'LM Studio, of llama.cpp',
    'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)',
    [15_028, 7_424],
    {},
    'text',
  ],
  [
    'MiniMax',
    'invalid params, context window exceeds limit (2013)',
    undefined,
    { type: 'bad_request_error' },
  ],
  ['Kimi', 'Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)'],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    [40_000, 32_768],
    { code: '3051' },
    'flat',
  ],
  ['Mistral, without its window', 'Prompt contains 40000 tokens, too large for model', undefined, {}, 'flat'],
  [
    'Cerebras',
    'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
    undefined,
    { code: 'context_length_exceeded' },
    'flat',
  ],
  [
    'DeepSeek',
    "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    [66_000, 65_536],
  ],
  [
    'Ollama Cloud and Fireworks',
    'The prompt is too long: 150000, model maximum context length: 131071',
    [150_000, 131_071],
    { code: 'invalid_request_error' },
  ],
  ['Z.ai', 'Prompt exceeds max length', undefined, { code: '1261' }],
  ['Ollama', 'prompt too long; exceeded max context length by 4 tokens', undefined, {}, 'text'],
  ['Ollama, unseen', 'the prompt exceeds the model context length', undefined, { type: 'api_error' }],
  [
    'Cohere',
    'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.',
    [5_000, 4_081],
    {},
    'flat',
  ],
  [
    'Together and SGLang',
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    [9_000, 8_192],
    { type: 'BadRequestError' },
    'flat',
  ],
  [
    'SGLang, with the answer',
    "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9100 tokens: 9000 tokens from the input messages and 100 tokens for the completion.",
    undefined,
    { type: 'BadRequestError' },
    'flat',
  ],
  [
    'TensorRT-LLM',
    'The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)',
    [9_000, 8_192],
    { type: 'BadRequestError' },
    'flat',
  ],
  ['a gateway to Bedrock', 'Input is too long for requested model.', undefined, {}, 'detail'],
  ['DashScope', 'Range of input length should be [1, 30720]', undefined, { code: 'invalid_parameter_error' }],
  ['DwarfStar', 'Prompt has 5000 tokens, but the configured context size is 4096 tokens', [5_000, 4_096]],
  ['a gateway, of a size', 'Request size exceeds model context window'],
  ['nothing but 413', '', undefined, { status: 413 }, 'none'],
  [
    'LiteLLM, unseen',
    'litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - too long',
    undefined,
    { code: '400' },
  ],
]

describe('a request that is too long', () => {
  it.each(wordings.map((each) => [each[0], each[1], each] as const))('%s: %s', async (_, message, given) => {
    const [, , counts, told = {}, form] = given
    const error = await refusedWith(message, told, form)
    expect(error).toMatchObject({ _tag: 'ContextExceeded' })
    if (message !== '') expect(error.message.replaceAll('\\', '')).toContain(message)
    expect(refusalOf(error)).toEqual(counts ? { tokens: counts[0], maximum: counts[1] } : {})
  })

  const others: readonly (readonly [string, string, Told?, Form?])[] = [
    [
      'a rate of OpenAI',
      'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.',
      { status: 429, type: 'tokens', code: 'rate_limit_exceeded' },
    ],
    ['a rate of Bedrock', 'Too many tokens, please wait before trying again.', { status: 429 }],
    ['the same by a gateway', 'Too many tokens, please wait before trying again.'],
    [
      'a rate by a gateway',
      'ThrottlingException: too many tokens per minute: prompt is too long for the rate',
    ],
    ['a day’s tokens', 'Too many tokens per day, please wait before trying again.', { status: 400 }, 'flat'],
    [
      'a quota of Gemini',
      'You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000',
      { status: 429, type: 'RESOURCE_EXHAUSTED' },
      'list',
    ],
    [
      'a limit of the answer, of OpenAI',
      'max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you provided 200000.',
    ],
    [
      'a limit of the answer, of Cohere',
      'too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model',
    ],
    [
      'a limit of the answer, of DeepSeek',
      'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
    ],
    ['a limit of the answer, of Copilot', 'max_tokens exceeds the limit of 8192'],
    ['another invalid request', "Unknown parameter: 'x'."],
  ]
  it.each(others.map((each) => [each[0], each] as const))('%s is not one', async (_, given) => {
    const [, message, told = {}, form] = given
    const error = await refusedWith(message, told, form)
    expect(error).toMatchObject({ _tag: 'ModelFailed', retryable: told.status === 429 })
    expect(error.message).toContain(message)
  })
})

describe('an error in another form than OpenAI’s', () => {
  it.each(['wrapped', 'flat', 'list', 'text', 'detail', 'repeated'] as const)('%s is told', async (form) => {
    expect((await refusedWith('No such thing.', {}, form)).message).toContain('No such thing.')
  })

  it('keeps its type, and is told of Azure, too', async () => {
    const api = await chatCompletions({
      reply: () => ({ status: 400, type: 'invalid_request_message_order', message: 'No.', code: '3230' }),
      models: { any: { errorBody: forms.flat } },
    })
    atEnd(api.close)
    const azure = new AzureOpenAI({ baseURL: api.url, apiKey: 'any', apiVersion: '2026-01-01' })
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }] as const
    for (const client of [azure, new OpenAI({ baseURL: api.url, apiKey: 'any' })]) {
      const error = left(await openAiModel(client).call({ model: 'any', messages, parameters: {} }))
      // The stand-in has none of Azure's addresses.
      const told = client === azure ? { status: 404 } : { status: 400, type: 'invalid_request_message_order' }
      expect(error).toMatchObject(told)
    }
  })

  it('is left to the client where somebody has wrapped its calls', async () => {
    const api = await chatCompletions({ reply: () => ({ content: 'So.' }) })
    atEnd(api.close)
    const client = new OpenAI({ baseURL: api.url, apiKey: 'any' })
    const { completions } = client.chat
    const create = completions.create.bind(completions)
    let calls = 0
    Object.assign(completions, {
      create: (...asked: Parameters<typeof create>) => {
        calls++
        return create(...asked)
      },
    })
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }] as const
    await openAiModel(client).call({ model: 'gpt-5.2', messages, parameters: {} })
    expect(calls).toBe(1)
  })
})

describe('an order that is refused', () => {
  const mistral: Manners = {
    refusesUserAfterTool: true,
    refusesStreamOptions: true,
    errorBody: (error) => ({ object: 'error', ...error }),
  }
  const readTool = { name: 'read', input_schema: { type: 'object' } }

  /** A conversation in which the user speaks right after a result, at an endpoint that refuses this. */
  const scene = async (
    options: OpenAiOptions = {},
    {
      manners = mistral,
      reply = () => ({ content: 'I see.' }),
    }: { readonly manners?: Manners; readonly reply?: (n: number) => ChatReply | ChatFailure } = {},
  ) => {
    const api = await chatCompletions({ reply: (_, n) => reply(n), models: { mistral: manners } })
    const store = await openStore('memory:')
    atEnd(api.close, store.close)
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'Read it.' })
    const use = { type: 'tool_use', id: 'a', name: 'read', input: {} } as const
    await chat.append({ role: 'assistant', content: [use], origin: { stopReason: 'tool_use' } })
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'It is empty.' } as const
    await chat.append({ role: 'user', content: [result] })
    await chat.append({ role: 'user', content: 'Stop there.' })
    const model = () =>
      openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'any' }), { usage: false, ...options })
    const client = model()
    const turn = (given = client) => chat.turn({ client: given, model: 'mistral', tools: [readTool] })
    const roles = () =>
      api.requests.map(({ status, body }) => [status, ...(body?.messages ?? []).map(({ role }) => role)])
    return { api, chat, client, model, turn, roles }
  }
  const plain = ['user', 'assistant', 'tool', 'user']
  const bridged = ['user', 'assistant', 'tool', 'assistant', 'user']

  describe('an endpoint that refuses the user right after a tool', () => {
    it('gets a message of the assistant between the two, once it has refused', async () => {
      const { chat, client, turn, roles } = await scene()
      const turned = await turn()
      expect(turned).toMatchObject({ calls: 1, retried: 1 })
      expect(roles()).toEqual([
        [400, ...plain],
        [200, ...bridged],
      ])
      const sent = await chat.sent()
      expect(sent).toMatchObject({ isSame: true, origin: { failed: [{ status: 400 }] } })
      expect(sent.receipt.options).toMatchObject({
        form: { version: 1, bridge: true },
        repairs: { 'assistant-added': 1 },
      })
      await chat.append({ role: 'user', content: 'Why?' })
      await turn()
      expect(roles().at(-1)).toEqual([200, ...bridged, 'assistant', 'user'])
      expect(roles().length).toBe(3)
      expect(client.form).toMatchObject({ bridge: true })
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    })

    it('or at once, by the option; never, where the option says so', async () => {
      const { turn, roles } = await scene({ bridge: true })
      await turn()
      expect(roles()).toEqual([[200, ...bridged]])
      const never = await scene({ bridge: false })
      await expect(never.turn()).rejects.toMatchObject({ _tag: 'ModelFailed', status: 400 })
      expect(never.roles()).toEqual([[400, ...plain]])
    })

    it.each([
      [
        400,
        'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
      ],
      [500, 'Conversation roles must alternate user/assistant/user/assistant/...'],
      [422, "Unexpected role 'user' after role 'tool'"],
    ])('in whatever words it refuses: %s %s', async (status, message) => {
      const refusal: ChatFailure = { status, type: 'BadRequestError', message }
      const { turn, roles } = await scene(
        {},
        { manners: {}, reply: (n) => (n === 0 ? refusal : { content: 'I see.' }) },
      )
      await turn()
      expect(roles()).toEqual([
        [status, ...plain],
        [200, ...bridged],
      ])
    })

    it('is asked once more only, and what it says of something else is left alone', async () => {
      const message = "Unexpected role 'user' after role 'tool'"
      const again = await scene({}, { manners: {}, reply: () => ({ status: 400, type: 'x', message }) })
      const error: unknown = await again.turn().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ _tag: 'ModelFailed', failed: [{ status: 400 }, { status: 400 }] })
      expect(again.roles().length).toBe(2)
      const last =
        'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
      const other = await scene({}, { manners: {}, reply: () => ({ status: 400, type: 'x', message: last }) })
      await expect(other.turn()).rejects.toMatchObject({ _tag: 'ModelFailed' })
      expect(other.roles().length).toBe(1)
    })

    it('spends a call of the budget with its refusal', async () => {
      const { chat, client, roles } = await scene()
      const asked = chat.turn({ client, model: 'mistral', tools: [readTool], budget: { calls: 1 } })
      await expect(asked).rejects.toMatchObject({ _tag: 'BudgetSpent' })
      expect(roles().length).toBe(1)
    })

    it('keeps receipts true where two turns share a model and one of them learns', async () => {
      const { chat, client, turn } = await scene()
      const fork = chat.fork('d')
      await Promise.all([
        turn(),
        fork.then((other) => other.turn({ client, model: 'mistral', tools: [readTool] })),
      ])
      const other = await fork
      for (const each of [chat, other]) expect(await each.verifyReceipts()).toMatchObject({ findings: [] })
    })

    it('summarizes as well', async () => {
      const { model, api } = await scene()
      const use = { type: 'tool_use', id: 'a', name: 'read', input: {} }
      const result = { type: 'tool_result', tool_use_id: 'a', content: 'It is empty.' }
      const log = logOf(user('Read it.'), assistant([use]), user([result]))
      const summarize = summarizer(model(), { model: 'mistral', window: 100_000 })
      const { origin } = right(await summarize({ effective: effective(log), covers: { first: 0, last: 2 } }))
      expect(api.requests.map(({ status }) => status)).toEqual([400, 200])
      expect(origin.context?.options).toMatchObject({ along: { form: { bridge: true } } })
    })
  })

  describe('a server that refuses `stream_options`', () => {
    it('gets none, but those that the caller names', async () => {
      const { api, turn } = await scene({ bridge: true })
      await turn()
      expect(api.requests[0]?.body).not.toHaveProperty('stream_options')
      const named = await scene({ bridge: true }, { manners: {} })
      const parameters = { stream_options: { include_obfuscation: false } }
      await named.chat.turn({ client: named.client, model: 'mistral', tools: [readTool], parameters })
      expect(named.api.requests[0]?.body?.stream_options).toEqual({ include_obfuscation: false })
      expect(await named.chat.sent()).toMatchObject({
        isSame: true,
        receipt: { options: { form: { usage: false } } },
      })
    })
  })
})
