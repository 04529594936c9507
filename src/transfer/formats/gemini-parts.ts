import { type AnyBlock, type Block, textBlock, unknownBlock } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { type ImportNotes, stringOf } from './source.ts'

/** Ids of calls: the Gemini API lets calls and their results go without, and pairs them by name. */
export interface CallIds {
  readonly ofCall: (id: unknown, name: unknown) => string
  readonly ofResult: (id: unknown, name: unknown) => string
}

/** Creates ids for a list of contents. An id that is made up begins with the given text. */
export const createCallIds = (prefix: string): CallIds => {
  const waiting: { readonly id: string; readonly name: unknown }[] = []
  let count = 0
  return {
    ofCall: (given, name) => {
      const id = stringOf(given) ?? `${prefix}_${count++}`
      waiting.push({ id, name })
      return id
    },
    ofResult: (given, name) => {
      const at = waiting.findIndex((call) => (given ? call.id === given : call.name === name))
      const [call] = at < 0 ? [] : waiting.splice(at, 1)
      return stringOf(given) ?? call?.id ?? `${prefix}_${count++}`
    },
  }
}

/** Converts a content of the Gemini API (a text, a part, or a list of them) to blocks. Parts of other kinds are kept unchanged. */
export const blocksOfContent = (content: unknown, ids: CallIds, notes: ImportNotes): readonly Block[] =>
  (Array.isArray(content) ? content : [content]).flatMap((part: unknown) => blocksOfPart(part, ids, notes))

const blocksOfPart = (part: unknown, ids: CallIds, notes: ImportNotes): readonly Block[] => {
  if (part === undefined || part === null || part === '') return []
  if (typeof part === 'string') return [textBlock(part)]
  if (!isFields(part)) return [part as unknown as Block]
  const { text, thought, functionCall: call, functionResponse: response } = part
  if (part['thoughtSignature'] !== undefined) notes.leftOut('thought signature', 'only Gemini takes it')
  if (thought === true && typeof text === 'string')
    return [unknownBlock({ type: 'thinking', thinking: text })]
  if (typeof text === 'string') return text === '' ? [] : [textBlock(text)]
  if (isFields(call)) {
    const { name, args = {} } = call
    return [unknownBlock({ type: 'tool_use', id: ids.ofCall(call['id'], name), name, input: args })]
  }
  if (isFields(response)) return [resultOf(response, ids, notes)]
  const { inlineData: inline, fileData: file } = part
  if (isFields(inline)) {
    const { mimeType, data } = inline
    return [mediumOf(mimeType, { type: 'base64', media_type: mimeType, data })]
  }
  if (isFields(file)) return [mediumOf(file['mimeType'], { type: 'url', url: file['fileUri'] })]
  return Object.keys(part).some((key) => key !== 'thoughtSignature')
    ? [unknownBlock({ type: 'gemini_part', part })]
    : []
}

const mediumOf = (mimeType: unknown, source: Fields): Block =>
  unknownBlock({ type: String(mimeType).startsWith('image/') ? 'image' : 'document', source })

const resultOf = ({ id, name, response, parts }: Fields, ids: CallIds, notes: ImportNotes): Block => {
  const [key, ...more] = isFields(response) ? Object.keys(response) : []
  // Other fields than these two have no meaning of their own.
  const said =
    isFields(response) && more.length === 0 && (key === 'output' || key === 'error')
      ? response[key]
      : response
  const text = typeof said === 'string' ? said : (JSON.stringify(said) ?? '')
  const media = Array.isArray(parts) ? blocksOfContent(parts, ids, notes) : []
  const content: string | readonly AnyBlock[] = media.length === 0 ? text : [textBlock(text), ...media]
  const isError = isFields(response) && Boolean(response['error'])
  return unknownBlock({
    type: 'tool_result',
    tool_use_id: ids.ofResult(id, name),
    content,
    ...(isError && { is_error: true }),
  })
}
