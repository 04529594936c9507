import { pieces } from '../messages-api/events.ts'
import type { JsonFields, ChatModel } from './body.ts'
import type { Completion } from './replies.ts'

/** Converts a completion into the chunks of a stream. */
export const chunksOf = (
  { choices: [{ message, finish_reason }], usage, ...head }: Completion,
  { reasoning, calls: manner }: ChatModel,
  hasUsage: boolean,
): readonly JsonFields[] => {
  const { role, content, refusal, tool_calls: calls = [], ...others } = message
  const field = reasoning ?? ''
  const { [field]: thought, ...more }: JsonFields = others
  const texts = (name: string, text: unknown): readonly JsonFields[] =>
    typeof text === 'string' ? pieces(text).map((piece) => ({ [name]: piece })) : []
  const spoken = Array.isArray(content) ? partPieces(content) : texts('content', content)
  const called = calls.flatMap((call, index): JsonFields[] => {
    const { id, type, function: made } = call
    if (manner === 'bare') return [{ tool_calls: [{ function: made }] }]
    if (manner === 'same-id') return [{ tool_calls: [call] }]
    if (manner === 'same-index') return [{ tool_calls: [{ index: 0, id: '', type, function: made }] }]
    const { name, arguments: json } = made
    return [
      { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
      ...pieces(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]
  })
  const deltas: readonly JsonFields[] = [
    { role, content: '', refusal: null },
    ...texts(field, thought),
    ...spoken,
    ...texts('refusal', refusal),
    ...called,
    ...(Object.keys(more).length > 0 ? [more] : []),
  ]
  const chunk = (choices: readonly JsonFields[], counted: unknown): JsonFields => ({
    ...head,
    object: 'chat.completion.chunk',
    choices,
    ...(hasUsage && { usage: counted }),
  })
  const choice = (delta: JsonFields, reason: string | null): JsonFields => ({
    index: 0,
    delta,
    logprobs: null,
    finish_reason: reason,
  })
  return [
    ...deltas.map((delta) => chunk([choice(delta, null)], null)),
    chunk([choice({}, finish_reason)], null),
    ...(hasUsage ? [chunk([], usage)] : []),
  ]
}

/** Splits content parts into chunks, each with a list of one part. */
const partPieces = (parts: readonly JsonFields[]): readonly JsonFields[] =>
  parts.flatMap(({ type, text, thinking }): readonly JsonFields[] => {
    const inner = Array.isArray(thinking) ? (thinking as readonly JsonFields[]) : [{ text }]
    return inner
      .flatMap((each) => pieces(String(each['text'])))
      .map((piece) => ({
        content: [thinking ? { type, thinking: [{ type: 'text', text: piece }] } : { type, text: piece }],
      }))
  })

/** Encodes a chunk as a server-sent event. */
export const encodeChunk = (chunk: JsonFields): string => `data: ${JSON.stringify(chunk)}\n\n`
export const done = 'data: [DONE]\n\n'
