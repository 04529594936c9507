import { type AnyBlock, type Block, textBlock, unknownBlock } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { type FileEntry, type ImportNotes, stringOf } from './source.ts'

/** The parts of a list of messages of the AI SDK. */
export interface AiSdkParts {
  /** Returns the blocks of a part; a call of the user interface has its result, too. Unknown parts are kept unchanged. */
  readonly blocksOf: (part: unknown) => readonly Block[]
}

export const aiSdkParts = (messages: readonly FileEntry[], notes: ImportNotes): AiSdkParts => {
  const parts = messages.flatMap(({ fields: { content } }) =>
    Array.isArray(content) ? content.filter(isFields) : [],
  )
  const answered = new Set(
    parts.filter(({ type }) => type === 'tool-result').map(({ toolCallId }) => toolCallId),
  )
  const asked = new Map(
    parts
      .filter(({ type }) => type === 'tool-approval-request')
      .map(({ approvalId, toolCallId }) => [approvalId, toolCallId]),
  )
  const leaveOut = (kind: string, reason: string): readonly Block[] => {
    notes.leftOut(`part ${kind}`, reason)
    return []
  }

  const blocksOf = (part: unknown): readonly Block[] => {
    if (!isFields(part)) return [part as Block]
    const { type, text, toolInvocation: early } = part
    const kind = String(type)
    switch (type) {
      case 'text':
        return text === '' ? [] : [unknownBlock({ type, text })]
      case 'reasoning':
        return [thinkingOf(part)]
      case 'file':
      case 'image':
        return [mediumOf(part)]
      case 'tool-call':
        return [callOf(part, part['toolName'])]
      case 'tool-result':
        return [resultOf(part['toolCallId'], part['output'] ?? { type: 'json', value: part['result'] })]
      case 'tool-approval-request':
        return leaveOut(kind, approval)
      case 'tool-approval-response': {
        const call = asked.get(part['approvalId'])
        if (part['approved'] !== false || call === undefined || answered.has(call))
          return leaveOut(kind, approval)
        return [resultOf(call, { type: 'execution-denied', reason: part['reason'] })]
      }
      case 'step-start':
        return []
      case 'source-url':
      case 'source-document':
        return leaveOut(kind, 'for the user')
      case 'dynamic-tool':
        return callsOfUi(part, part['toolName'])
      default:
        if (kind.startsWith('data-')) return leaveOut(kind, 'the program decides what the model sees of it')
        // Version 4 has the call in a field.
        if (isFields(early)) return callsOfUi(ofVersion4(early), early['toolName'])
        return kind.startsWith('tool-') && stringOf(part['toolCallId']) !== undefined
          ? callsOfUi(part, kind.slice('tool-'.length))
          : [unknownBlock({ type: 'ai_sdk_part', part })]
    }
  }

  const callsOfUi = (part: Fields, name: unknown): readonly Block[] => {
    const { state, toolCallId: id, output, errorText, approval: asking } = part
    const reason = isFields(asking) ? asking['reason'] : undefined
    const isDenied = isFields(asking) && asking['approved'] === false
    const call = callOf(part, name)
    if (state === 'input-streaming') return leaveOut('call', 'it was not complete')
    if (state === 'output-available') return [call, resultOf(id, outputOf(output))]
    if (state === 'output-error') return [call, resultOf(id, { type: 'error-text', value: errorText })]
    return isDenied ? [call, resultOf(id, { type: 'execution-denied', reason })] : [call]
  }
  return { blocksOf }
}

const approval = 'the model sees only what came of it'

const ofVersion4 = ({ args, result, ...call }: Fields): Fields => ({
  ...call,
  input: args,
  output: result,
  state: result === undefined ? 'input-available' : 'output-available',
})

/** Returns the output that a call has for the model if its tool says nothing else. */
const outputOf = (output: unknown): Fields =>
  typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null }

const callOf = ({ toolCallId: id, input, rawInput, args }: Fields, name: unknown): Block =>
  unknownBlock({ type: 'tool_use', id, name, input: input ?? rawInput ?? args ?? {} })

const resultOf = (id: unknown, output: unknown): Block => {
  const { type, value, reason } = isFields(output) ? output : outputOf(output)
  const isError = type === 'error-text' || type === 'error-json' || type === 'execution-denied'
  const content: string | readonly AnyBlock[] =
    type === 'execution-denied'
      ? (stringOf(reason) ?? 'Tool execution denied.')
      : type === 'content' && Array.isArray(value)
        ? value.filter(isFields).map(itemOf)
        : typeof value === 'string'
          ? value
          : JSON.stringify(value ?? null)
  return unknownBlock({ type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) })
}

/** Returns an item of a result that is a list: a text, or a file under one of several names. */
const itemOf = (item: Fields): AnyBlock =>
  item['type'] === 'text' ? textBlock(String(item['text'])) : mediumOf(item)

const thinkingOf = ({ text, providerOptions, providerMetadata }: Fields): Block => {
  const options = isFields(providerOptions) ? providerOptions : providerMetadata
  const of = (provider: string): Fields =>
    isFields(options) && isFields(options[provider]) ? options[provider] : {}
  const { signature, redactedData: data } = of('anthropic')
  const { reasoningEncryptedContent: encrypted } = of('openai')
  if (stringOf(data) !== undefined) return unknownBlock({ type: 'redacted_thinking', data })
  return unknownBlock({
    type: 'thinking',
    thinking: text,
    ...(stringOf(signature) !== undefined && { signature }),
    ...(stringOf(encrypted) !== undefined && { encrypted_content: encrypted }),
  })
}

/** Beginnings of images in base64: of a part of the kind `image`, the type may be missing. */
const imageTypes = [
  ['iVBOR', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
] as const

/** Returns a file or image, which is a URL, base64, or one of these in an object. What is none of these is kept unchanged. */
const mediumOf = (part: Fields): Block => {
  const { type, mediaType, mimeType, image, url } = part
  const given = image ?? part['data'] ?? url
  const { data, url: at, text } = isFields(given) ? given : { data: given }
  if (typeof text === 'string') return textBlock(text)
  const found = data ?? at
  if (typeof found !== 'string') return unknownBlock({ type: 'ai_sdk_part', part })
  const [, inUrl, base64 = found] = /^data:([^;,]*)[^,]*;base64,(.*)$/s.exec(found) ?? []
  const guessed = imageTypes.find(([beginning]) => base64.startsWith(beginning))?.[1]
  const media = stringOf(mediaType) ?? stringOf(mimeType) ?? stringOf(inUrl) ?? guessed ?? ''
  const isImage = media.startsWith('image/') || String(type).startsWith('image')
  const isUrl = base64 === found && /^[a-z][a-z0-9+.-]*:/i.test(found)
  const source = isUrl
    ? { type: 'url', url: found }
    : { type: 'base64', media_type: media.includes('*') ? (guessed ?? media) : media, data: base64 }
  return unknownBlock({ type: isImage ? 'image' : 'document', source })
}
