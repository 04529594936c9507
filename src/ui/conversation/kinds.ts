import type { AnyBlock } from '../../core.ts'
import type { ShownEntry, ClippedItem } from '../source/answers.ts'

// Labels and colours of messages.

export type ItemTone = 'user' | 'assistant' | 'call' | 'result' | 'condensed' | 'truncated' | 'system'

/** Returns the blocks of a message; none for other items. */
export const itemBlocks = (item: ClippedItem | ShownEntry | undefined): readonly AnyBlock[] =>
  item?.kind === 'message' ? item.content : []

export const isToolCall = ({ type }: AnyBlock): boolean => type.endsWith('tool_use')
export const isToolResult = ({ type }: AnyBlock): boolean => type === 'tool_result'

/** Returns the tool name of every call in the messages, by call id. */
export const toolNames = (items: Iterable<ClippedItem | ShownEntry>): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  for (const item of items)
    for (const block of itemBlocks(item))
      if (isToolCall(block)) names.set(String(block['id']), String(block['name']))
  return names
}

export interface ItemLabel {
  readonly tone: ItemTone
  readonly words: string
  /** Names of the tools that the message calls or has results of; empty for other messages. */
  readonly tools: string
}

export const describe = (item: ClippedItem | ShownEntry, names: ReadonlyMap<string, string>): ItemLabel => {
  if (item.kind === 'summary') return { tone: 'condensed', words: 'summary', tools: '' }
  if (item.kind === 'truncation') return { tone: 'truncated', words: 'truncation', tools: '' }
  const blocks = itemBlocks(item)
  if (item.role === 'assistant') {
    const calls = blocks.filter(isToolCall).map((block) => String(block['name']))
    return calls.length > 0
      ? { tone: 'call', words: 'assistant · tool call', tools: formatCounts(calls) }
      : { tone: 'assistant', words: 'assistant', tools: '' }
  }
  const results = blocks.filter(isToolResult)
  if (results.length === 0)
    return { tone: item.role === 'system' ? 'system' : 'user', words: item.role, tools: '' }
  const tools = results.flatMap((block) => names.get(String(block['tool_use_id'])) ?? [])
  return {
    tone: 'result',
    words: results.length === 1 ? 'tool result' : `${results.length} tool results`,
    tools: formatCounts(tools),
  }
}

/** Formats names with their counts: `Read ×3, Bash`. */
export const formatCounts = (names: readonly string[]): string => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, times]) => (times > 1 ? `${name} ×${times}` : name)).join(', ')
}

/** Returns content blocks as text for the clipboard; blocks other than text are formatted as JSON. */
export const textOf = (blocks: readonly AnyBlock[]): string =>
  blocks
    .map((block) => (block.type === 'text' ? String(block['text']) : JSON.stringify(block, undefined, 2)))
    .join('\n\n')

/**
 * Estimates the length of an item in characters, counting the full length of clipped strings.
 *
 * @param most length from which the exact one does not matter: counting stops there
 */
export const lengthOf = (item: ClippedItem | ShownEntry, most = Infinity): number => {
  const messages = item.kind === 'message' ? [item] : item.kind === 'summary' ? item.messages : []
  const cuts = 'cuts' in item ? (item.cuts ?? []) : []
  const wholes = new Map(cuts.map(({ block, field, length }) => [`${block} ${field}`, length]))
  let sum = 0
  for (const [index, block] of messages.flatMap(({ content }) => content).entries())
    for (const field in block) {
      // For an image, the server reports the clipped data of `source` under the name `data`.
      const whole = wholes.get(`${index} ${field === 'source' ? 'data' : field}`)
      sum += whole ?? stringsIn(block[field as keyof typeof block], most - sum)
      if (sum >= most) return sum
    }
  return sum
}

const stringsIn = (value: unknown, most: number): number => {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let sum = 0
  for (const key in value) {
    sum += stringsIn(value[key as keyof typeof value], most - sum)
    if (sum >= most) return sum
  }
  return sum
}
