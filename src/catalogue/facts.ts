import { type Block, isBlock } from '../events/blocks.ts'
import { eventTraits, hasNoEffect } from '../events/event-traits.ts'
import { contentOf, type ConversationEvent, type Covers } from '../events/events.ts'
import { type AnsweredSummary, answeredSummaryOf } from '../agent/receipts/calls.ts'
import { estimatePrompt } from '../agent/context/tokens/estimate.ts'
import { type EventKind, kindOf, type MessageKind } from '../projections/columns.ts'
import { tokensByBytes } from '../projections/tokens.ts'

/** Properties of an event that the catalogue stores, without the event's content. */
export interface Facts {
  readonly position: number
  readonly kind: EventKind
  /** Estimated tokens of the event's content; for a `Configured` event, of the system prompt and tools. */
  readonly own: number
  /** Names of the tools that the message calls, in order. */
  readonly tools: readonly string[]
  /** Slice that the event covers, if it is a marker. */
  readonly covers?: Covers | undefined
  /** Position that a rewind returns to, or position of the marker that a restore undoes. */
  readonly target?: number | undefined
  /** Summary in a marker, if a model wrote it. */
  readonly answered?: AnsweredSummary | undefined
}

export const factsOf = (event: ConversationEvent): Facts => {
  const { position } = event
  const blocks = contentOf(event).flatMap(({ content }) => content)
  const facts = { position, kind: kindOf(event), own: tokensByBytes(blocks), tools: noTools }
  if (hasNoEffect(event)) return facts
  switch (event.type) {
    case 'MessageAppended':
      return { ...facts, tools: toolsIn(event.data.role === 'assistant' ? blocks : []) }
    case 'Condensed':
    case 'Truncated':
      return { ...facts, covers: event.data.covers, answered: answeredSummaryOf(event) }
    case 'Restored':
      return { ...facts, target: event.data.marker }
    case 'Rewound':
      return { ...facts, target: event.data.to }
    case 'Configured':
      return { ...facts, own: estimatePrompt(event.data.system, event.data.tools) }
  }
}

export const noTools: readonly string[] = []
const toolsIn = (blocks: readonly Block[]): readonly string[] => {
  const names = blocks.flatMap((block) => (isBlock(block, 'tool_use') ? [block.name] : []))
  // One empty list for all messages without calls.
  return names.length > 0 ? names : noTools
}

const marks = new Set<EventKind>(
  Object.values(eventTraits).flatMap((traits) =>
    'letter' in traits && traits.effect !== 'none' ? [traits.letter] : [],
  ),
)
/** Reports whether an event of this kind may change more than the end of the effective history. */
export const isMark = (kind: EventKind): boolean => marks.has(kind)
export const isMessage = (kind: EventKind): kind is MessageKind => 'uracs'.includes(kind)
