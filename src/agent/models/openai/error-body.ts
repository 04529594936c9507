import { type Fields, isFields, parseBoundedJson } from '../../../events/json.ts'
import type { OpenAiClient } from './client.ts'

/**
 * Finds the error in the body of a response. OpenAI's form is `{ error: { message, type, code } }`. Mistral, Cohere, Cerebras and older
 * vLLM put these fields at the top level, Gemini wraps the body in a list, xAI and LM Studio use a string for `error`, FastAPI names it
 * `detail`, and OpenRouter repeats the provider's error in `metadata.raw`.
 */
export const errorIn = (body: unknown): Fields | undefined => {
  if (Array.isArray(body)) return errorIn(body[0])
  if (!isFields(body)) return undefined
  const { error, detail, ...fields } = body
  const told = error ?? detail
  if (typeof told === 'string') return { ...fields, message: told }
  if (Array.isArray(told)) return { ...fields, message: JSON.stringify(told) }
  const found = isFields(told) ? told : 'message' in body ? fields : undefined
  const raw = isFields(found?.['metadata']) ? found['metadata']['raw'] : undefined
  return typeof raw === 'string' ? { ...found, message: `${String(found?.['message'])}: ${raw}` } : found
}

/**
 * Returns a client that can read the errors of every endpoint, because the SDK discards everything in an error's body except `error`.
 * Returns the given client if that is impossible, or if the client's calls have been wrapped.
 */
export const withReadableErrors = (client: OpenAiClient): OpenAiClient => {
  const given: unknown = Reflect.get(client, 'fetch')
  const send = typeof given === 'function' ? (given as typeof fetch) : fetch
  const own = client.withOptions?.({
    fetch: async (...asked: Parameters<typeof fetch>) => withError(await send(...asked)),
  })
  const isSame = own?.chat.completions.create === client.chat.completions.create
  return own && isSame ? own : client
}

const withError = async (response: Response): Promise<Response> => {
  if (response.ok) return response
  const { status, statusText, headers } = response
  // If the body breaks off, the status is still reported.
  const text = await response.text().catch(() => '')
  return new Response(restored(text), { status, statusText, headers })
}

const restored = (text: string): string => {
  try {
    const error = errorIn(parseBoundedJson(text))
    return error ? JSON.stringify({ error }) : text
  } catch {
    return text
  }
}
