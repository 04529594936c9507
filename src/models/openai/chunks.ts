import { randomUUID } from 'node:crypto'
import { type Fields, isFields } from '../../events/json.ts'
import type { ReplyEvent } from '../model.ts'
import type { Reasoned } from './chat/chat.ts'
import { detailsList } from './details.ts'
import { usageOf } from './usage.ts'

/** Reads the chunks of a stream as the events of the Messages API that say the same. */
export interface ChunkReader {
  readonly eventsOf: (chunk: object) => readonly ReplyEvent[]
  /** The last events; none if the reply did not come to its end. */
  readonly ending: () => readonly ReplyEvent[]
}

/** A call that is being written. It begins with its name, which need not come first. */
interface Writing {
  readonly id: string
  readonly isGiven: boolean
  name: string
  /** Arguments that came before the name. */
  early: string
  block: number | undefined
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}
/** What is kept of a chunk besides its deltas. */
const kept = ['id', 'model', 'system_fingerprint', 'service_tier'] as const

/** @param nameOf the name of a tool, by the name that the model knows it by */
export const chunkReader = (provider: string, nameOf: (sent: string) => string): ChunkReader => {
  let hasBegun = false
  let blocks = 0
  /** The text or thinking that the last delta was of. */
  let open: { readonly type: 'text' | 'thinking'; readonly index: number } | undefined
  /** The last block of thinking, as long as it may grow. */
  let thinking: number | undefined
  const details = detailsList()
  const calls: Writing[] = []
  const places = new Map<unknown, Writing>()
  let finish: string | undefined
  let isRefusal = false
  let usage: unknown
  const annotations: unknown[] = []

  const delta = (index: number, fields: Fields): ReplyEvent => ({
    type: 'content_block_delta',
    index,
    delta: fields,
  })
  const start = (block: Fields): readonly [number, ReplyEvent] => {
    const index = blocks++
    return [index, { type: 'content_block_start', index, content_block: block }]
  }
  const stop = (index: number): ReplyEvent => ({ type: 'content_block_stop', index })
  const closed = (): readonly ReplyEvent[] => {
    if (!open) return []
    const { type, index } = open
    open = undefined
    // Its details come until the end.
    if (type === 'thinking' && details.all().length > 0) return []
    if (type === 'thinking') thinking = undefined
    return [stop(index)]
  }

  const opened = (type: 'text' | 'thinking'): readonly ReplyEvent[] => {
    if (open?.type === type) return []
    const before = closed()
    const chat: Reasoned = { provider }
    const [index, event] = start(type === 'text' ? { type, text: '' } : { type, thinking: '', chat })
    open = { type, index }
    if (type === 'thinking') thinking = index
    return [...before, event]
  }
  const spoken = (type: 'text' | 'thinking', text: unknown): readonly ReplyEvent[] => {
    if (typeof text !== 'string' || text === '') return []
    const events = opened(type)
    const index = open?.index ?? 0
    const field = type === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text }
    return [...events, delta(index, field)]
  }

  const reasoned = ({ reasoning_content, reasoning, reasoning_details }: Fields): readonly ReplyEvent[] => {
    const events = spoken('thinking', reasoning_content || reasoning)
    if (!Array.isArray(reasoning_details) || reasoning_details.length === 0) return events
    const begun = thinking === undefined ? opened('thinking') : []
    details.add(reasoning_details)
    return [...events, ...begun]
  }

  /** The call that a part belongs to: by its index, but some endpoints give every call the same one, or none. */
  const writingOf = (part: Fields, made: Fields): Writing => {
    const { index, id } = part
    const given = typeof id === 'string' && id !== '' ? id : undefined
    const known = index === undefined && given === undefined ? calls.at(-1) : places.get(index ?? given)
    const isOther = given !== undefined && known?.isGiven === true && known.id !== given && made['name']
    if (known && !isOther) return known
    const writing: Writing = {
      id: given ?? `call_${randomUUID().replaceAll('-', '')}`,
      isGiven: given !== undefined,
      name: '',
      early: '',
      block: undefined,
    }
    calls.push(writing)
    places.set(index ?? given, writing)
    return writing
  }

  const called = (part: unknown): readonly ReplyEvent[] => {
    if (!isFields(part)) return []
    const made = isFields(part['function']) ? part['function'] : {}
    const writing = writingOf(part, made)
    const { name, arguments: given } = made
    const json = typeof given === 'string' ? given : given === undefined ? '' : JSON.stringify(given)
    const events: ReplyEvent[] = []
    if (writing.block === undefined) {
      if (typeof name === 'string') writing.name += name
      if (writing.name === '') {
        writing.early += json
        return []
      }
      const [index, event] = start({
        type: 'tool_use',
        id: writing.id,
        name: nameOf(writing.name),
        input: {},
      })
      writing.block = index
      events.push(...closed(), event)
    }
    const input = writing.early + json
    writing.early = ''
    if (input !== '') events.push(delta(writing.block, { type: 'input_json_delta', partial_json: input }))
    return events
  }

  const said = (choice: Fields): readonly ReplyEvent[] => {
    const { delta: parts, finish_reason: reason } = choice
    if (typeof reason === 'string') finish = reason
    if (!isFields(parts)) return []
    const { content, refusal, tool_calls: made, function_call: legacy } = parts
    if (typeof refusal === 'string' && refusal !== '') isRefusal = true
    if (Array.isArray(parts['annotations'])) annotations.push(...(parts['annotations'] as unknown[]))
    if (content !== null && content !== undefined && typeof content !== 'string')
      throw new Error('the content of a chunk is no text: this version of palimpsest cannot read it')
    return [
      ...reasoned(parts),
      ...spoken('text', content),
      ...spoken('text', refusal),
      ...(Array.isArray(made) ? made.flatMap(called) : []),
      ...(isFields(legacy) ? called({ index: 'legacy', function: legacy }) : []),
    ]
  }

  const beginning = (chunk: Fields): readonly ReplyEvent[] => {
    if (hasBegun) return []
    hasBegun = true
    const facts = kept
      .map((name) => [name, chunk[name]] as const)
      .filter(([, fact]) => typeof fact === 'string')
    const message = { ...Object.fromEntries(facts), endpoint: provider, type: 'message', role: 'assistant' }
    return [{ type: 'message_start', message: { ...message, content: [], usage: {} } }]
  }

  const stopReason = (): string => {
    if (isRefusal) return 'refusal'
    // Some endpoints say that a reply with calls just stopped.
    const hasStopped = finish === 'stop' || finish === 'tool_calls' || finish === 'function_call'
    if (hasStopped) return calls.length > 0 ? 'tool_use' : 'end_turn'
    return stopReasons[finish ?? ''] ?? String(finish)
  }

  const opaque = (): readonly ReplyEvent[] => {
    const all = details.all()
    if (all.length === 0 || thinking === undefined) return []
    const chat: Reasoned = { provider, details: all }
    return [delta(thinking, { type: 'opaque_delta', chat }), stop(thinking)]
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
      return [
        ...closed(),
        ...opaque(),
        ...calls.map(({ block }) => {
          if (block === undefined) throw new Error('the stream has a call without a name')
          return stop(block)
        }),
        {
          type: 'message_delta',
          delta: { stop_reason: stopReason(), ...(annotations.length > 0 && { annotations }) },
          usage: usageOf(usage),
        },
        { type: 'message_stop' },
      ]
    },
  }
}
