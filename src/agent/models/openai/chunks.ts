import { type Fields, isFields } from '../../../events/json.ts'
import type { ReplyEvent } from '../model.ts'
import { blockEvents } from './block-events.ts'
import { speech } from './speech.ts'
import { usageOf } from './usage.ts'
import { type WrittenCalls, createWrittenCalls } from './written-calls.ts'

/** Translator of the chunks of a stream into the equivalent events of the Messages API. */
export interface ChunkReader {
  readonly eventsOf: (chunk: object) => readonly ReplyEvent[]
  /** Returns the final events; empty if the reply did not finish. */
  readonly ending: () => readonly ReplyEvent[]
}

/** Fields of a chunk that are recorded in addition to the content. */
const kept = ['id', 'model', 'system_fingerprint', 'service_tier'] as const

/**
 * Creates the translator for the chunks of one reply.
 *
 * @param nameOf returns a tool's name in the request, given the name sent to the model
 * @param taken ids of earlier calls, which no call of this reply may reuse
 */
export const chunkReader = (
  provider: string,
  nameOf: (sent: string) => string,
  taken: ReadonlySet<string> = new Set(),
): ChunkReader => {
  const blocks = blockEvents()
  const { text, reasoning, interrupt, end } = speech(provider, blocks)
  const calls = createWrittenCalls(blocks, { nameOf, taken, interrupt })
  const annotations: unknown[] = []
  let hasBegun = false
  let isRefusal = false
  let finish: string | undefined
  let usage: unknown

  const beginning = (chunk: Fields): readonly ReplyEvent[] => {
    if (hasBegun) return []
    hasBegun = true
    const facts = kept
      .map((name) => [name, chunk[name]] as const)
      .filter(([, fact]) => typeof fact === 'string')
    const message = { ...Object.fromEntries(facts), endpoint: provider, type: 'message', role: 'assistant' }
    return [{ type: 'message_start', message: { ...message, content: [], usage: {} } }]
  }

  const said = ({ delta, finish_reason: reason }: Fields): readonly ReplyEvent[] => {
    // Some endpoints send an empty finish reason in every chunk.
    if (typeof reason === 'string' && reason !== '') finish = reason
    if (!isFields(delta)) return []
    const { content, refusal, tool_calls: made, function_call: legacy } = delta
    isRefusal ||= typeof refusal === 'string' && refusal !== ''
    if (Array.isArray(delta['annotations'])) annotations.push(...(delta['annotations'] as unknown[]))
    return [
      ...reasoning(delta),
      ...spoken(content),
      ...text(refusal),
      ...(Array.isArray(made) ? made.flatMap(calls.add) : []),
      ...(isFields(legacy) ? calls.add({ index: 'legacy', function: legacy }) : []),
    ]
  }

  /**
   * Translates content that is a text or a list of parts. Mistral's models put their thinking into one part, and the sources they cite
   * into another.
   */
  const spoken = (content: unknown): readonly ReplyEvent[] => {
    if (content === null || content === undefined || typeof content === 'string') return text(content)
    return (Array.isArray(content) ? (content as readonly unknown[]) : [content]).flatMap((part) => {
      if (typeof part === 'string') return text(part)
      const { type, text: written, thinking, refusal } = isFields(part) ? part : ({} as Fields)
      switch (type) {
        case 'text':
        case 'output_text':
          return text(written)
        case 'thinking':
          return reasoning({ reasoning: textsIn(thinking) })
        case 'refusal':
          isRefusal ||= typeof refusal === 'string' && refusal !== ''
          return text(refusal)
        case 'reference':
          annotations.push(part)
          return []
        default:
          throw new Error(
            `the content of a chunk has a part of type ${String(type)}, which this version of palimpsest cannot read`,
          )
      }
    })
  }

  return {
    eventsOf: (chunk) => {
      const fields = chunk as Fields
      if (isFields(fields['usage'])) usage = fields['usage']
      const choices = Array.isArray(fields['choices']) ? (fields['choices'] as unknown[]) : []
      const first = choices.filter(isFields).find(({ index = 0 }) => index === 0)
      // Azure begins with a chunk without choices or an id.
      return first ? [...beginning(fields), ...said(first)] : []
    },
    ending: () => {
      if (finish === undefined) return []
      const reason = isRefusal ? 'refusal' : stopReasonOf(finish, calls)
      const delta = { stop_reason: reason, ...(annotations.length > 0 && { annotations }) }
      return [
        ...end(),
        ...calls.end(),
        { type: 'message_delta', delta, usage: usageOf(usage) },
        { type: 'message_stop' },
      ]
    },
  }
}

/** Returns the joined text of a list of parts, or the value itself if it is a string. */
const textsIn = (parts: unknown): string => {
  if (typeof parts === 'string') return parts
  if (!Array.isArray(parts)) return ''
  return (parts as readonly unknown[])
    .map((part) => (isFields(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('')
}

/** Finish reasons of replies that broke off and whose tool calls may therefore be incomplete. */
const broken: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'network_error',
  'insufficient_system_resource',
  'model_context_window_exceeded',
])

const stopReasonOf = (finish: string, calls: Pick<WrittenCalls, 'isAny' | 'areWhole'>): string => {
  switch (finish.toLowerCase()) {
    // Some endpoints return `stop` for a reply with tool calls.
    case 'stop':
    case 'tool_calls':
    case 'function_call':
      return calls.isAny() ? 'tool_use' : 'end_turn'
    case 'length':
    case 'max_tokens':
      return 'max_tokens'
    case 'content_filter':
    case 'safety':
    case 'sensitive':
      return 'refusal'
    default:
      return calls.isAny() && calls.areWhole() && !broken.has(finish) ? 'tool_use' : finish
  }
}
