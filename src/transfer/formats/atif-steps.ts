import { type AnyBlock, type Block, isBlock, textBlock, unknownBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { stringOf } from './source.ts'

/** The blocks of a step: those of its message, and those of the results that came after it. */
export interface StepContent {
  readonly role: Role
  readonly content: readonly Block[]
  readonly results: readonly Block[]
}

const roles = new Map<unknown, Role>([
  ['agent', 'assistant'],
  ['system', 'system'],
])

/**
 * Returns what the model sees of a step. Where the format has no place for something, an export of Palimpsest keeps the blocks in
 * `extra`; without `isExact`, these are not read.
 */
export const readStep = (step: Fields, isExact = true): StepContent => {
  const { source, message, reasoning_content: reasoning, tool_calls: calls, observation, extra } = step
  const own = isExact && isFields(extra) && isFields(extra['palimpsest']) ? extra['palimpsest'] : {}
  const made = (Array.isArray(calls) ? calls : []).filter(isFields)
  const content = [
    ...(stringOf(reasoning) === undefined ? [] : [unknownBlock({ type: 'thinking', thinking: reasoning })]),
    ...blocksOfMessage(message),
    ...made.map(({ tool_call_id: id, function_name: name, arguments: input }) =>
      unknownBlock({ type: 'tool_use', id, name, input: input ?? {} }),
    ),
  ]
  const [only, ...others] = made
  const given = isFields(observation) && Array.isArray(observation['results']) ? observation['results'] : []
  const results = given.filter(isFields).flatMap((result): readonly Block[] => {
    const id =
      result['source_call_id'] ??
      (others.length === 0 && given.length === 1 ? only?.['tool_call_id'] : undefined)
    const parts = blocksOfMessage(result['content'])
    if (id === undefined || id === null) return parts
    const [part] = parts
    const said: string | readonly AnyBlock[] =
      part === undefined ? '' : parts.length === 1 && isBlock(part, 'text') ? part.text : parts
    return [unknownBlock({ type: 'tool_result', tool_use_id: id, content: said })]
  })
  return {
    role: roles.get(source) ?? 'user',
    content: listIn(own['content']) ?? content,
    results: listIn(own['results']) ?? results,
  }
}

const listIn = (value: unknown): readonly Block[] | undefined =>
  Array.isArray(value) ? (value as readonly Block[]) : undefined

/** Returns the blocks of a text or a list of parts. An image in a file of its own becomes a text with its path. */
const blocksOfMessage = (message: unknown): readonly Block[] => {
  if (message === undefined || message === null || message === '') return []
  if (!Array.isArray(message)) return [unknownBlock({ type: 'text', text: message })]
  return message.map((part: unknown): Block => {
    if (!isFields(part)) return part as Block
    if (part['type'] !== 'image') return unknownBlock(part as unknown as AnyBlock)
    // Early versions have the fields of the source in the part.
    const { media_type: type, path } = isFields(part['source']) ? part['source'] : part
    const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(String(path)) ?? []
    if (data !== undefined)
      return unknownBlock({ type: 'image', source: { type: 'base64', media_type: type, data } })
    if (/^https?:/.test(String(path)))
      return unknownBlock({ type: 'image', source: { type: 'url', url: path } })
    return textBlock(`[image in the file ${String(path)}]`)
  })
}

/** Reports whether a step has images in files of their own. */
export const hasImageFiles = (step: Fields): boolean =>
  /"path":"(?!data:|https?:)/.test(JSON.stringify([step['message'], step['observation']]))
