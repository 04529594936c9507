import { type AnyBlock, isBlock } from '../../src/events/blocks.ts'
import type { Conversation, ConversationEvent } from '../../src/index.ts'
import { countTokens } from '../../src/agent/context/tokens/tokens.ts'
import { prompts } from './prompts.ts'

/** What the log says of events: those of one turn, or of several. */
export interface Tally {
  /** Names of the tools that were called, in the order of their calls. */
  readonly tools: readonly string[]
  /** How many results said that the tool failed. */
  readonly failed: number
  /** Replies of the model that worked; summaries not counted. */
  readonly calls: number
  readonly condensed: number
  readonly truncated: number
  /** Tokens of the worker's requests, and how many of them were read from the prompt cache. */
  readonly input: number
  readonly cached: number
}

/** A turn, once it is over. */
export interface Played extends Tally {
  /** Counted from 1. */
  readonly turn: number
  /** Tokens of the context now, the last reply included. */
  readonly context: number
}

/** Plays so many turns in a new conversation, one after the other. */
export async function* play(
  chat: Conversation,
  agent: (prompt: string) => Promise<unknown>,
  turns: number,
): AsyncGenerator<Played> {
  let from = 0
  let turn = 0
  for (const prompt of prompts()) {
    if (turn === turns) return
    await agent(prompt)
    const events = await eventsFrom(chat, from)
    from += events.length
    yield { turn: ++turn, context: countTokens(await chat.context()).total, ...tallyOf(events) }
  }
}

export const eventsFrom = async (chat: Conversation, from = 0): Promise<readonly ConversationEvent[]> => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events({ from })) events.push(event)
  return events
}

export const tallyOf = (events: readonly ConversationEvent[]): Tally => {
  const replies = events.filter((event) => event.type === 'MessageAppended')
  const blocks = replies.flatMap(({ data }) => data.content)
  const usages = replies.map(({ data }) => data.origin?.usage).filter((usage) => usage !== undefined)
  const sum = (fields: readonly string[]): number =>
    usages.flatMap((usage) => fields.map((field) => Number(usage[field] ?? 0))).reduce((a, b) => a + b, 0)
  const count = (type: ConversationEvent['type']): number =>
    events.filter((event) => event.type === type).length
  return {
    tools: blocks.flatMap((block) => (isBlock(block, 'tool_use') ? [block.name] : [])),
    failed: blocks.filter(isFailure).length,
    calls: usages.length,
    condensed: count('Condensed'),
    truncated: count('Truncated'),
    input: sum(['input_tokens', cacheRead, 'cache_creation_input_tokens']),
    cached: sum([cacheRead]),
  }
}

const cacheRead = 'cache_read_input_tokens'

const isFailure = (block: AnyBlock): boolean => block.type === 'tool_result' && block['is_error'] === true
