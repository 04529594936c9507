import type { ChatForm } from '../form.ts'
import type { ModelRequest } from '../model.ts'
import { chatBody } from './chat/chat.ts'

/** Returns the body of a streaming call in this Chat Completions form, as the SDK sends it. */
export const chatCallBody = (request: ModelRequest, form: ChatForm): Record<string, unknown> => {
  const { stream_options: more, ...body } = chatBody(request, form) as Record<string, unknown>
  const options = { ...(more as object | undefined), ...(form.usage !== false && { include_usage: true }) }
  return { ...body, stream: true, ...(Object.keys(options).length > 0 && { stream_options: options }) }
}
