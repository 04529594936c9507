import { pieces } from '../messages-api/events.ts'
import type { Fields, Model } from './body.ts'
import type { Completion } from './replies.ts'

/** An answer as a stream. */
export const chunksOf = (
  { choices: [{ message, finish_reason }], usage, ...head }: Completion,
  { reasoning }: Model,
  hasUsage: boolean,
): readonly Fields[] => {
  const { role, content, refusal, tool_calls: calls = [], ...others } = message
  const field = reasoning ?? ''
  const { [field]: thought, ...more }: Fields = others
  const texts = (name: string, text: unknown): readonly Fields[] =>
    typeof text === 'string' ? pieces(text).map((piece) => ({ [name]: piece })) : []
  const called = calls.flatMap(({ id, type, function: { name, arguments: json } }, index): Fields[] => [
    { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
    ...pieces(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ])
  const deltas: readonly Fields[] = [
    { role, content: '', refusal: null },
    ...texts(field, thought),
    ...texts('content', content),
    ...texts('refusal', refusal),
    ...called,
    ...(Object.keys(more).length > 0 ? [more] : []),
  ]
  const chunk = (choices: readonly Fields[], counted: unknown): Fields => ({
    ...head,
    object: 'chat.completion.chunk',
    choices,
    ...(hasUsage && { usage: counted }),
  })
  const choice = (delta: Fields, reason: string | null): Fields => ({
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

/** A chunk as written to the stream. */
export const encoded = (chunk: Fields): string => `data: ${JSON.stringify(chunk)}\n\n`
export const done = 'data: [DONE]\n\n'
