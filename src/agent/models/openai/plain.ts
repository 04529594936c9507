import { type Fields, isFields, parseBoundedJson } from '../../../events/json.ts'
import type { StreamResponse } from '../streaming/call.ts'
import { errorIn } from './error-body.ts'

/** Yields the chunks of a response. A server that ignores `stream` responds with a single completion, which is read as one chunk. */
export async function* chunksOf({ data, response }: StreamResponse): AsyncIterable<object> {
  const { body, headers } = response
  const isStream = headers.get('content-type')?.includes('text/event-stream') === true
  if (isStream || !body || body.locked) return yield* data
  // The content type is not reliable: some servers declare a stream as JSON, or declare no type.
  const { isJson, whole } = await peeked(body)
  if (isJson) return yield completionIn(await textOf(whole, headers), headers)
  Object.defineProperty(response, 'body', { value: whole })
  return yield* data
}

const peeked = async (
  body: ReadableStream<Uint8Array>,
): Promise<{ readonly isJson: boolean; readonly whole: ReadableStream<Uint8Array> }> => {
  const [beginning, whole] = body.tee()
  const chunks = beginning.getReader()
  let begins = ''
  while (begins === '') {
    const { done, value } = await chunks.read()
    if (done) break
    begins = new TextDecoder().decode(value).trimStart()
  }
  // Not awaited: cancelling one branch settles only once the other one is cancelled, too.
  chunks.cancel().catch(() => undefined)
  return { isJson: begins.startsWith('{') || begins.startsWith('['), whole }
}

const textOf = async (body: ReadableStream<Uint8Array>, headers: Headers): Promise<string> => {
  try {
    return await new Response(body).text()
  } catch (cause) {
    throw brokenOff(headers, cause)
  }
}

const completionIn = (text: string, headers: Headers): object => {
  const completion = jsonIn(text)
  if (completion === undefined) throw brokenOff(headers)
  const choices = isFields(completion) ? completion['choices'] : undefined
  if (!Array.isArray(choices)) throw refused(completion, headers)
  return { ...(completion as Fields), choices: choices.filter(isFields).map(choiceOf) }
}

/** Converts a complete message into the choice of a chunk. Tool calls are identified by their index. */
const choiceOf = ({ message, finish_reason: reason, ...choice }: Fields): Fields => {
  const { tool_calls: calls, ...said } = isFields(message) ? message : ({} as Fields)
  const made = Array.isArray(calls) ? (calls as readonly unknown[]).filter(isFields) : []
  const delta = { ...said, tool_calls: made.map((call, index) => ({ ...call, index })) }
  return { ...choice, delta, finish_reason: reason ?? 'stop' }
}

const jsonIn = (text: string): unknown => {
  try {
    return parseBoundedJson(text)
  } catch {
    return undefined
  }
}

// Both errors have `headers`, like the SDK's errors of the connection and of the API. The first one is worth a retry.
const brokenOff = (headers: Headers, cause?: unknown): Error =>
  Object.assign(new Error('it broke off', { cause }), { headers })

const refused = (answer: unknown, headers: Headers): Error => {
  const { message = 'it has no choices', type, code } = errorIn(answer) ?? {}
  return Object.assign(new Error(String(message)), { headers, type: type ?? 'invalid_answer', code })
}
