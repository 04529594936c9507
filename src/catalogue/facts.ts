import { type Block, isBlock } from '../events/blocks.ts'
import { eventTraits, hasNoEffect } from '../events/event-traits.ts'
import { contentOf, type ConversationEvent, type Covers } from '../events/events.ts'
import { type AnsweredSummary, answeredSummaryOf } from '../agent/receipts/calls.ts'
import { estimatePrompt } from '../agent/context/tokens/estimate.ts'
import { type EventKind, kindOf, type MessageKind } from '../projections/columns.ts'
import { estimateItem } from '../agent/context/tokens/measure.ts'
import { tokensIn } from '../agent/models/usage.ts'
import { itemIn } from '../projections/effective.ts'
import { type MessageTokens, messageTokens } from './meter.ts'

/** Properties of an event that the catalogue stores, without the event's content. */
export interface Facts {
  readonly position: number
  readonly kind: EventKind
  /** Estimated tokens of a marker's summary, or of the system prompt and tools that a `Configured` event records. */
  readonly estimated: number
  /** Properties of a message that its tokens follow from. */
  readonly message?: MessageTokens | undefined
  /** Estimate that a marker records of the hidden content, and of the context before it. */
  readonly before?: number | undefined
  readonly context?: number | undefined
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
  const facts = { position, kind: kindOf(event), estimated: 0, tools: noTools }
  if (hasNoEffect(event)) return facts
  switch (event.type) {
    case 'MessageAppended':
      return {
        ...facts,
        message: messageTokens(event),
        tools: toolsIn(event.data.role === 'assistant' ? blocks : []),
      }
    case 'Condensed':
    case 'Truncated':
      return {
        ...facts,
        estimated: estimatedItem(event),
        before: event.data.tokens.before,
        context: event.type === 'Condensed' ? tokensIn(event.data.origin?.usage ?? {}, 'tokens_before') : 0,
        covers: event.data.covers,
        answered: answeredSummaryOf(event),
      }
    case 'Restored':
      return { ...facts, target: event.data.marker }
    case 'Rewound':
      return { ...facts, target: event.data.to }
    case 'Configured':
      return { ...facts, estimated: estimatePrompt(event.data.system, event.data.tools) }
  }
}

const estimatedItem = (event: ConversationEvent): number => {
  const item = itemIn(event)
  return item ? estimateItem(item).estimated : 0
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
