import type { AnyBlock } from '../../src/events/blocks.ts'
import type { ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'

/** Replies of a model that reads the parser when it is asked about it, and remembers what it was asked first. */
export const replyTo = (messages: ApiRequest['messages']): ApiReply => {
  const texts = messages.flatMap(({ role, content }) => (role === 'user' ? textsOf(content) : []))
  const asked = texts.filter((text) => !text.startsWith('<'))
  if (asked.at(-1) === 'What did I ask?') return says(`First you asked: “${asked[0]}”`)
  if (JSON.stringify(messages.at(-1)).includes('tool_result')) return says('It does not know quoted commas.')
  return { content: [{ type: 'tool_use', name: 'Read', input: { file_path: 'parser.ts' } }] }
}

const says = (text: string): ApiReply => ({ content: [{ type: 'text', text }] })

const textsOf = (content: string | readonly AnyBlock[]): readonly string[] =>
  typeof content === 'string'
    ? [content]
    : content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
