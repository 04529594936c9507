import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { anthropicModel } from '../../../src/agent/models/anthropic/model.ts'
import { openAiModel } from '../../../src/agent/models/openai/model.ts'
import { chatFailures } from '../../../src/testing/chat-completions/failures.ts'
import type { ChatFailure } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { failures } from '../../../src/testing/messages-api/failures.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import type { ModelAnswer, ModelScene } from '../../../src/testing/model-contract.ts'
import { atEnd } from '../at-end.ts'

/** Long enough for the beginning of a text. */
const after = 6

/** The model of the SDK's client, at a stand-in for the Messages API. */
export const messagesScene = async (): Promise<ModelScene> => {
  const answers: ModelAnswer[] = []
  const api = await messagesApi({ reply: () => saidBy(answers.shift() ?? {}) })
  atEnd(api.close)
  return {
    model: anthropicModel(new Anthropic({ baseURL: api.url, apiKey: 'any' })),
    name: 'claude-opus-5-5',
    answers: (...more) => void answers.push(...more),
    received: () => api.requests.length,
  }
}

const saidBy = ({
  text,
  calls = [],
  isCut,
  refuses,
  breaks,
  isSilent,
}: ModelAnswer): ApiReply | ApiFailure => {
  switch (refuses) {
    case 'overloaded':
      return failures.overloaded
    case 'rate-limited':
      return { ...failures.rateLimited, retryAfter: 2 }
    case 'unauthorized':
      return failures.unauthorized
    case 'too-long':
      return {
        status: 400,
        type: 'invalid_request_error',
        message: 'prompt is too long: 9 tokens > 8 maximum',
      }
    case undefined:
      break
  }
  return {
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map((made) => ({ type: 'tool_use', ...made })),
    ],
    ...(isCut && { stop_reason: 'max_tokens' as const }),
    ...(breaks && { fault: { kind: breaks, after } }),
    ...(isSilent && { fault: { kind: 'stall' as const } }),
  }
}

/** The model of OpenAI's client, at a stand-in for Chat Completions. */
export const chatScene = async (): Promise<ModelScene> => {
  const answers: ModelAnswer[] = []
  const api = await chatCompletions({ reply: () => toldBy(answers.shift() ?? {}) })
  atEnd(api.close)
  return {
    model: openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'any' })),
    name: 'gpt-5.2',
    answers: (...more) => void answers.push(...more),
    received: () => api.requests.length,
  }
}

const toldBy = ({
  text,
  calls = [],
  isCut,
  refuses,
  breaks,
  isSilent,
}: ModelAnswer): ChatReply | ChatFailure => {
  switch (refuses) {
    case 'overloaded':
      return chatFailures.overloaded
    case 'rate-limited':
      return { ...chatFailures.rateLimited, retryAfter: 2 }
    case 'unauthorized':
      return chatFailures.unauthorized
    case 'too-long':
      return {
        status: 400,
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        message: 'Too long.',
      }
    case undefined:
      break
  }
  return {
    ...(text !== undefined && { content: text }),
    tool_calls: calls.map(({ name, input }) => ({ name, arguments: input })),
    ...(isCut && { finish_reason: 'length' as const }),
    ...(breaks && { fault: { kind: breaks, after: after - 2 } }),
    ...(isSilent && { fault: { kind: 'stall' as const } }),
  }
}
