import * as E from 'fp-ts/lib/Either.js'
import { type AnyBlock, type Block, unknownBlock } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { parseJson, stringOf } from './source.ts'

/** Returns the blocks of a message's content, which is a string, a list of parts, or absent. Unknown parts are kept unchanged. */
export const blocksOfParts = (content: unknown): readonly Block[] => {
  if (content === null || content === undefined || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content)
    ? content.map((part) => blockOf(part as AnyBlock))
    : (content as readonly Block[])
}

const blockOf = (part: AnyBlock): Block => {
  if (!isFields(part) || part.type !== 'image_url') return unknownBlock(part)
  const { image_url: image } = part
  return imageAt(stringOf(isFields(image) ? image['url'] : image) ?? '')
}

/** Returns a picture at a URL, which may be a `data:` URL. */
export const imageAt = (url: string): Block => {
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(url)
  return data?.[1] !== undefined && data[2] !== undefined
    ? { type: 'image', source: { type: 'base64', media_type: data[1], data: data[2] } }
    : { type: 'image', source: { type: 'url', url } }
}

/** Returns the address of a picture or a document of the Messages API; its data becomes a `data:` URL. */
export const addressOf = ({ source }: AnyBlock): unknown => {
  if (!isFields(source)) return ''
  const { url, media_type: type, data } = source
  return url ?? `data:${type as string};base64,${data as string}`
}

/** Returns the tool calls of an assistant message as blocks. A call without an id gets one derived from its position in the file. */
export const callsOf = (
  { tool_calls: calls, function_call: legacy }: Fields,
  index: number,
): readonly Block[] => {
  const list: readonly unknown[] = Array.isArray(calls) ? calls : []
  const all = isFields(legacy) ? [...list, { function: legacy }] : list
  return all.filter(isFields).map((call, place): Block => {
    const made = isFields(call['function'])
      ? call['function']
      : isFields(call['custom'])
        ? call['custom']
        : {}
    return unknownBlock({
      type: 'tool_use',
      id: stringOf(call['id']) ?? `call_${index}${place === 0 ? '' : `_${place}`}`,
      name: made['name'],
      input: made['input'] ?? inputOf(made['arguments']),
    })
  })
}

/** Returns the arguments of a call as JSON, or as text if the model wrote invalid JSON. */
export const inputOf = (text: unknown): unknown => {
  if (typeof text !== 'string') return text ?? {}
  if (text.trim() === '') return {}
  const parsed = parseJson(text)
  return E.isRight(parsed) ? parsed.right : text
}

/** Converts the definition of a tool or legacy function to the form of the Messages API. */
export const toolOf = (tool: Fields): Fields => {
  const { function: definition } = tool
  const made = isFields(definition) ? definition : tool
  const { parameters, ...rest } = made
  return parameters === undefined && made === tool
    ? tool
    : { ...rest, input_schema: parameters ?? { type: 'object' } }
}
