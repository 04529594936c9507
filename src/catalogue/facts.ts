import { type Block, isBlock } from '../events/blocks.ts'
import { contentOf, type ConversationEvent, type Covers } from '../events/events.ts'
import { type AnsweredSummary, answeredSummary } from '../agent/receipts/calls.ts'
import { estimatePrompt } from '../agent/context/tokens/estimate.ts'
import type { EventKind, MessageKind } from '../projections/columns.ts'
import { tokensByBytes } from '../projections/tokens.ts'

/** What the catalogue knows of an event without its content. */
export interface Facts {
  readonly position: number
  readonly kind: EventKind
  /** Estimated tokens of what it shows; of a `Configured`, of system prompt and tools. */
  readonly own: number
  /** The names of the tools that it calls, in order. */
  readonly tools: readonly string[]
  /** What a marker covers. */
  readonly covers?: Covers | undefined
  /** Where a rewind goes to, and the marker that a restore takes back. */
  readonly target?: number | undefined
  /** The summary that a marker is, if a model answered it. */
  readonly answered?: AnsweredSummary | undefined
}

export const factsOf = (event: ConversationEvent): Facts => {
  const { position } = event
  const blocks = contentOf(event).flatMap(({ content }) => content)
  const facts = { position, kind: kindOf(event, blocks), own: tokensByBytes(blocks), tools: noTools }
  switch (event.type) {
    case 'MessageAppended':
      return { ...facts, tools: toolsIn(event.data.role === 'assistant' ? blocks : []) }
    case 'Condensed':
    case 'Truncated':
      return { ...facts, covers: event.data.covers, answered: answeredSummary(event) }
    case 'Restored':
      return { ...facts, target: event.data.marker }
    case 'Rewound':
      return { ...facts, target: event.data.to }
    case 'Configured':
      return { ...facts, own: estimatePrompt(event.data.system, event.data.tools) }
    case 'Forked':
      return facts
  }
}

const kindOf = (event: ConversationEvent, blocks: readonly Block[]): EventKind => {
  switch (event.type) {
    case 'MessageAppended': {
      const { role } = event.data
      if (role === 'user') return blocks.some(({ type }) => type === 'tool_result') ? 'r' : 'u'
      if (role === 'assistant') return toolsIn(blocks).length > 0 ? 'c' : 'a'
      return 's'
    }
    case 'Condensed':
      return 'C'
    case 'Truncated':
      return 'T'
    case 'Restored':
      return 'R'
    case 'Rewound':
      return 'W'
    case 'Configured':
      return 'K'
    case 'Forked':
      return '-'
  }
}

export const noTools: readonly string[] = []
const toolsIn = (blocks: readonly Block[]): readonly string[] => {
  const names = blocks.flatMap((block) => (isBlock(block, 'tool_use') ? [block.name] : []))
  // One empty list for all messages without calls.
  return names.length > 0 ? names : noTools
}

/** Tells whether an event may change more than the end of what is shown. */
export const isMark = (kind: EventKind): boolean => 'CTRWK'.includes(kind)
export const isMessage = (kind: EventKind): kind is MessageKind => 'uracs'.includes(kind)
