import { type AnyBlock, type Block, unknownBlock } from '../../src/events/blocks.ts'
import type { ConversationEvent, Event, EventData, Message, Origin } from '../../src/events/events.ts'
import type { Log } from '../../src/projections/path.ts'

// Events written by hand, for tests that say what happened without a command.

/** The event as a reader would get it from that position. */
export const eventAt = (event: Event, position: number): ConversationEvent => ({
  ...event,
  position,
  id: `event-${position}`,
  metadata: {
    schema: 1,
    time: '2026-01-01T00:00:00.000Z',
    actor: { kind: 'test' },
    commandId: `command-${position}`,
    prev: null,
  },
})

export const logOf = (...events: readonly Event[]): Log => events.map(eventAt)

type Content = string | readonly AnyBlock[]

export const blocksOf = (content: Content): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(unknownBlock)

export const said = (role: Message['role'], content: Content, origin?: Origin): Event<'MessageAppended'> => ({
  type: 'MessageAppended',
  data: { role, content: blocksOf(content), ...(origin && { origin }) },
})
export const user = (content: Content): Event => said('user', content)
export const assistant = (content: Content, origin?: Origin): Event => said('assistant', content, origin)

type Hiding = Pick<EventData['Truncated'], 'covers' | 'messagesHidden' | 'tokens'>

const hiding = (first: number, last: number, messagesHidden: number): Hiding => ({
  covers: { first, last },
  messagesHidden,
  tokens: { before: 10, after: 1 },
})

export const condensed = (
  first: number,
  last: number,
  summary: Content | readonly Message[] = 'Summary.',
  messagesHidden = last - first + 1,
): Event<'Condensed'> => ({
  type: 'Condensed',
  data: { ...hiding(first, last, messagesHidden), summary: summaryOf(summary), method: 'manual' },
})

/** As `condensed`, by the model's provider. */
export const compacted = (...args: Parameters<typeof condensed>): Event<'Condensed'> => {
  const { type, data } = condensed(...args)
  return { type, data: { ...data, method: 'provider' } }
}

const summaryOf = (summary: Content | readonly Message[]): readonly Message[] => {
  if (typeof summary === 'string') return [{ role: 'user', content: blocksOf(summary) }]
  const messages = summary.flatMap((part) => ('role' in part ? [part as Message] : []))
  return messages.length > 0
    ? messages
    : [{ role: 'user', content: blocksOf(summary as readonly AnyBlock[]) }]
}

export const truncated = (
  first: number,
  last: number,
  messagesHidden = last - first + 1,
): Event<'Truncated'> => ({
  type: 'Truncated',
  data: hiding(first, last, messagesHidden),
})

export const rewound = (to: number): Event => ({ type: 'Rewound', data: { to } })
export const restored = (marker: number): Event => ({ type: 'Restored', data: { marker } })
export const configured = (data: EventData['Configured']): Event => ({ type: 'Configured', data })

export const toolUse = (id: string, input: unknown = {}): Block => ({
  type: 'tool_use',
  id,
  name: 'run',
  input,
})
export const toolResult = (id: string, content: unknown = 'done'): Block =>
  unknownBlock({ type: 'tool_result', tool_use_id: id, content })
export const thinking = (signature: string, text = 'hm'): Block => ({
  type: 'thinking',
  thinking: text,
  signature,
})
export const text = (value: string): Block => ({ type: 'text', text: value })
