import { isBlock } from '../../events/blocks.ts'
import { type ConversationEvent, messageOf } from '../../events/events.ts'
import type { Log } from '../../projections/path.ts'
import { isCall } from '../../agent/turn/calls/open-calls.ts'
import { toolOf } from '../../agent/turn/results/tools.ts'
import type { ToolCall, Tools, ToolSettings } from '../../agent/tools/settings.ts'
import { canonicalText } from '../canonical.ts'

/** Recorded results by tool name and input, in log order. */
export type Answers = Map<string, unknown[]>

/** Returns the results recorded from a position on. */
export const answersFrom = (log: Log, from: number): Answers => {
  const keys = new Map<string, string>()
  const answers: Answers = new Map()
  for (const event of log.slice(from)) {
    if (event.type !== 'MessageAppended') continue
    for (const call of messageOf(event).content.filter(isCall)) keys.set(call.id, keyOf(call))
    for (const [id, answer] of resultsIn(event)) {
      const key = keys.get(id)
      if (key !== undefined) answers.set(key, [...(answers.get(key) ?? []), answer])
    }
  }
  return answers
}

const keyOf = ({ name, input }: Pick<ToolCall, 'name' | 'input'>): string => `${name} ${canonicalText(input)}`

/** Returns the ids and results of a message's tool calls, in the form in which a tool would have returned them. */
const resultsIn = (event: ConversationEvent<'MessageAppended'>): readonly (readonly [string, unknown])[] =>
  messageOf(event).content.flatMap((block) => {
    if (!isBlock(block, 'tool_result')) return []
    const { content = '' } = block
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    return [[block.tool_use_id, block.is_error === true ? { content: blocks, isError: true } : content]]
  })

/**
 * Returns tools that return each recorded result once. A call without a recorded result waits for approval and does not run. With
 * `isRun`, the agent's own tool runs instead.
 */
export const toolsServing = (
  tools: Tools,
  names: readonly string[],
  answers: Answers,
  isRun: boolean,
): Tools => {
  const has = (call: Pick<ToolCall, 'name' | 'input'>): boolean => (answers.get(keyOf(call))?.length ?? 0) > 0
  const served = (name: string): ToolSettings => {
    const own = toolOf(tools, name)
    return {
      ...(isRun && own),
      ...(!isRun && { effect: 'none' as const }),
      approve: async (call) => {
        if (has(call)) return false
        if (!isRun || !own) return true
        const { approve = false } = own
        return typeof approve === 'function' ? own.approve !== undefined && approve.call(own, call) : approve
      },
      run: (input, context) => {
        const given = answers.get(keyOf({ name, input }))
        if (given && given.length > 0) return given.shift()
        return own?.run(input, context)
      },
    }
  }
  return Object.fromEntries(
    [...new Set([...names, ...Object.keys(tools)])].map((name) => [name, served(name)]),
  )
}
