import Anthropic from '@anthropic-ai/sdk'
import type { ToolContext } from '../../src/agent/tools/settings.ts'
import type { TurnOptions } from '../../src/agent/turn/options.ts'
import { type Conversation, openStore, type Store } from '../../src/index.ts'
import { atEnd } from './at-end.ts'
import { text } from './log.ts'
import type { ApiFailure, ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'
import {
  messagesApi,
  type MessagesApi,
  type MessagesApiOptions,
} from '../../src/testing/messages-api/server.ts'

// A conversation with a task, and a model behind the stand-in and the SDK.

export type Said =
  | ApiReply
  | ApiFailure
  | ((body: ApiRequest) => Promise<ApiReply | ApiFailure> | ApiReply | ApiFailure)

export interface Scene {
  readonly api: MessagesApi
  readonly client: Anthropic
  readonly store: Store
  readonly chat: Conversation
  readonly turn: (options?: Partial<TurnOptions>) => ReturnType<Conversation['turn']>
}

export const task = { role: 'user' as const, content: 'Is it there?' }
export const yes: ApiReply = { content: [text('Yes.')] }

/** What a turn gives a tool, for a call outside of one. */
export const toolContext = (name: string, maxResult = 1_000): ToolContext => ({
  id: 'r',
  name,
  key: 'k',
  maxResult,
  signal: new AbortController().signal,
  progress: () => {},
})

/** @param said what is answered, one a request, the last one again and again */
export const scene = async (said: readonly Said[], options: MessagesApiOptions = {}): Promise<Scene> => {
  const api = await messagesApi({
    reply: (body, n) => {
      const reply = said[Math.min(n, said.length - 1)] ?? yes
      return typeof reply === 'function' ? reply(body) : reply
    },
    ...options,
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.append(task)
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  return {
    api,
    client,
    store,
    chat,
    turn: (more = {}) => chat.turn({ client, model: 'claude-opus-5-5', ...more }),
  }
}
