import { isBlock } from '../events/blocks.ts'
import { type Item, messagesOf } from '../projections/effective.ts'

/** A tool call and where in a list of items it and its result stand; a call that still waits for its result ends nowhere. */
interface Call {
  readonly id: string
  readonly use: number
  readonly result: number
}

/** The tool calls that are in the items, each with its result. A call that the conversation went on without is none. */
export const callsOf = (items: readonly Item[]): readonly Call[] => {
  const calls: Call[] = []
  let open: { readonly id: string; readonly use: number }[] = []
  items.forEach((item, index) => {
    for (const { role, content } of messagesOf(item)) {
      const results = content.filter((block) => isBlock(block, 'tool_result'))
      for (const { tool_use_id: id } of results) {
        const use = open.find((call) => call.id === id)?.use
        if (use === undefined) continue
        calls.push({ id, use, result: index })
        open = open.filter((call) => call.id !== id)
      }
      if (role !== 'user' || results.length < content.length) open = []
      for (const block of content) if (isBlock(block, 'tool_use')) open.push({ id: block.id, use: index })
    }
  })
  return [...calls, ...open.map((call) => ({ ...call, result: Infinity }))]
}

/** The calls that a cut before the item at `index` would part from their results. */
export const partedBy = (calls: readonly Call[], index: number): readonly string[] =>
  calls.filter(({ use, result }) => use < index && index <= result).map(({ id }) => id)
