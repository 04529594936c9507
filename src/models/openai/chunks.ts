import { type Fields, isFields } from '../../events/json.ts'
import type { ReplyEvent } from '../model.ts'
import { blockEvents } from './block-events.ts'
import { speech } from './speech.ts'
import { usageOf } from './usage.ts'
import { writtenCalls } from './written-calls.ts'

/** Reads the chunks of a stream as the events of the Messages API that say the same. */
export interface ChunkReader {
  readonly eventsOf: (chunk: object) => readonly ReplyEvent[]
  /** The last events; none if the reply did not come to its end. */
  readonly ending: () => readonly ReplyEvent[]
}

/** What is kept of a chunk besides its deltas. */
const kept = ['id', 'model', 'system_fingerprint', 'service_tier'] as const

/** @param nameOf the name of a tool, by the name that the model knows it by */
export const chunkReader = (provider: string, nameOf: (sent: string) => string): ChunkReader => {
  const blocks = blockEvents()
  const { text, reasoning, interrupt, end } = speech(provider, blocks)
  const calls = writtenCalls(blocks, { nameOf, interrupt })
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
    if (typeof reason === 'string') finish = reason
    if (!isFields(delta)) return []
    const { content, refusal, tool_calls: made, function_call: legacy } = delta
    isRefusal ||= typeof refusal === 'string' && refusal !== ''
    if (Array.isArray(delta['annotations'])) annotations.push(...(delta['annotations'] as unknown[]))
    if (content !== null && content !== undefined && typeof content !== 'string')
      throw new Error('the content of a chunk is no text: this version of palimpsest cannot read it')
    return [
      ...reasoning(delta),
      ...text(content),
      ...text(refusal),
      ...(Array.isArray(made) ? made.flatMap(calls.add) : []),
      ...(isFields(legacy) ? calls.add({ index: 'legacy', function: legacy }) : []),
    ]
  }

  return {
    eventsOf: (chunk) => {
      const fields = chunk as Fields
      if (isFields(fields['usage'])) usage = fields['usage']
      const choices = Array.isArray(fields['choices']) ? (fields['choices'] as unknown[]) : []
      const first = choices.filter(isFields).find(({ index = 0 }) => index === 0)
      // Azure begins with a chunk that has no choice, and no id.
      return first ? [...beginning(fields), ...said(first)] : []
    },
    ending: () => {
      if (finish === undefined) return []
      const reason = isRefusal ? 'refusal' : stopReasonOf(finish, calls.isAny())
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

const stopReasonOf = (finish: string, hasCalls: boolean): string => {
  switch (finish) {
    // Some endpoints say that a reply with calls just stopped.
    case 'stop':
    case 'tool_calls':
    case 'function_call':
      return hasCalls ? 'tool_use' : 'end_turn'
    case 'length':
      return 'max_tokens'
    case 'content_filter':
      return 'refusal'
    default:
      return finish
  }
}
