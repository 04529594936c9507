import type { AnyBlock } from '../../../events/blocks.ts'
import { hasNoEffect } from '../../../events/event-traits.ts'
import { type ConversationEvent, contentOf, type Origin } from '../../../events/events.ts'
import { type Log, parent } from '../../../projections/path.ts'

// Converts events to the entries of a trace, in the terms of the CDDL of verifiable agent conversations.

/** Hashes of withheld events, by position. */
export type WithheldHashes = ReadonlyMap<number, string>

export interface TraceEntry {
  readonly type: string
  readonly [name: string]: unknown
}

/** An entry without its own id and its parent's id. */
type Part = TraceEntry

/**
 * Returns the trace entries of a log in order, including abandoned branches. `parent-id` names the preceding entry on the path.
 * `erased` is the time at which content of the entry was erased.
 */
export const entriesOf = (log: Log, withheld: WithheldHashes): readonly TraceEntry[] => {
  const lastIds: (string | undefined)[] = []
  return log.flatMap((event, position) => {
    const hash = withheld.get(position)
    const parts = hash === undefined ? partsOf(event) : [systemEvent('withheld', { hash })]
    let before = lastIds[parent(log, position)]
    const entries = parts.map((part, n) => {
      const id = n === 0 ? String(position) : `${position}.${n}`
      const placed = { ...part, id, ...(before !== undefined && { 'parent-id': before }) }
      before = id
      if (hash !== undefined) return placed
      const { time, erased } = event.metadata
      return { ...placed, timestamp: time, ...(erased && { erased: erased.time }) }
    })
    lastIds[position] = before
    return entries
  })
}

const systemEvent = (name: string, data: object): Part => ({
  type: 'system-event',
  'event-type': name,
  data,
})

const partsOf = (event: ConversationEvent): readonly Part[] => {
  if (hasNoEffect(event)) return [systemEvent(event.type.toLowerCase(), event.data)]
  switch (event.type) {
    case 'MessageAppended':
      return messageParts(event)
    case 'Condensed': {
      const { covers, messagesHidden, tokens, method, origin } = event.data
      const data = { covers, messagesHidden, tokens, method, summary: contentOf(event), ...modelOf(origin) }
      return [systemEvent('condensed', data)]
    }
    case 'Truncated': {
      const { covers, messagesHidden, tokens, reason } = event.data
      return [systemEvent('truncated', { covers, messagesHidden, tokens, reason })]
    }
    case 'Restored':
      return [systemEvent('restored', { marker: event.data.marker })]
    case 'Rewound':
    case 'Configured':
      return [systemEvent(event.type.toLowerCase(), event.data)]
  }
}

const messageParts = (event: ConversationEvent<'MessageAppended'>): readonly Part[] => {
  const { role, origin } = event.data
  const content = contentOf(event)[0]?.content ?? []
  if (role === 'system') return [systemEvent('system-message', { content })]
  const parts: Part[] = []
  let plain: AnyBlock[] = []
  const flush = (): void => {
    if (plain.length > 0) parts.push({ type: role, content: plain })
    plain = []
  }
  for (const block of content) {
    const own = ownPart(block)
    if (!own) plain.push(block)
    else {
      flush()
      parts.push(own)
    }
  }
  flush()
  // Fields about the whole reply are set on its message, which may have no content other than calls.
  if (role === 'user' && parts.length > 0) return parts
  const said = parts.findIndex(({ type }) => type === role)
  if (said < 0) return [{ type: role, ...modelOf(origin) }, ...parts]
  return parts.map((part, n) => (n === said ? { ...part, ...modelOf(origin) } : part))
}

/** Returns the separate entry for a block that needs one (reasoning, a tool call or a tool result); undefined for any other block. */
const ownPart = (block: AnyBlock): Part | undefined => {
  const { type, id, name, input, tool_use_id: callId, content, is_error: isError } = fieldsOf(block)
  if (type === 'thinking') {
    const { thinking, signature } = fieldsOf(block)
    return { type: 'reasoning', content: thinking, ...(signature !== undefined && { signature }) }
  }
  if (type === 'redacted_thinking')
    return { type: 'reasoning', content: '', encrypted: fieldsOf(block)['data'] }
  if (block.type.endsWith('tool_use') && typeof id === 'string' && typeof name === 'string')
    return { type: 'tool-call', name, input: input ?? null, 'call-id': id }
  if (block.type.endsWith('tool_result') && typeof callId === 'string')
    return {
      type: 'tool-result',
      output: content ?? '',
      'call-id': callId,
      ...(typeof isError === 'boolean' && { 'is-error': isError }),
    }
  return undefined
}

const fieldsOf = (block: AnyBlock): Readonly<Record<string, unknown>> => ({ ...block })

/** Returns the model of a reply and the token usage counted by the API. */
const modelOf = (origin: Origin | undefined): object => ({
  ...(origin?.model !== undefined && { 'model-id': origin.model }),
  ...(origin?.usage && { 'token-usage': usageOf(origin.usage) }),
})

const usageOf = (usage: Readonly<Record<string, unknown>>): object => {
  const count = (name: string): number => {
    const value = usage[name]
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
  }
  const cached = count('cache_read_input_tokens')
  const input = count('input_tokens') + count('cache_creation_input_tokens') + cached
  return { input, output: count('output_tokens'), cached }
}
