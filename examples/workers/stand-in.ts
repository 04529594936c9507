import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyBlock } from '../../src/events/blocks.ts'
import type { ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'
import { messagesApi, type MessagesApi } from '../../src/testing/messages-api/server.ts'

/** How long the model thinks, in milliseconds. */
const thinks = (): number => 200 + Math.random() * 1_000

/** The strict stand-in for the API, with a model that looks orders up, pays back those that were broken, and takes its time. */
export const standIn = (): Promise<MessagesApi> =>
  messagesApi({
    reply: async (body) => {
      await sleep(thinks())
      return replyTo(body)
    },
  })

const says = (text: string): AnyBlock => ({ type: 'text', text })

const replyTo = ({ messages }: ApiRequest): ApiReply => {
  const said = blocksOf(messages.at(-1)?.content)
  const result = said.findLast(({ type }) => type === 'tool_result')
  const last = result?.['content'] ?? said.at(-1)?.['text']
  const text = typeof last === 'string' ? last : ''
  const [order = ''] = /\d+/.exec(text) ?? []
  const call = (name: string): AnyBlock => ({ type: 'tool_use', name, input: { order } })
  if (order === '') return { content: [says('You are welcome.')] }
  if (!result) return { content: [says('Let me see.'), call('look_up')] }
  if (text.includes('broken')) return { content: [call('refund')] }
  return { content: [says(`I am sorry. ${text}`)] }
}

const blocksOf = (content: string | readonly AnyBlock[] | undefined): readonly AnyBlock[] =>
  typeof content === 'string' ? [says(content)] : (content ?? [])
