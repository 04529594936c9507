import { failures, type ApiFailure, type ApiReply, type ApiRequest } from '../../../src/testing/index.ts'

// A model that does what prompts say, so that a session can be scripted with prompts alone:
//   CALL Bash {"command": "ls"}    calls a tool; several such lines make parallel calls
//   USAGE 990000                   says that the request had so many tokens
//   OVERLOADED                     answers 529 once
// It answers the prompts of summaries with a summary, and anything else with a numbered reply.

export interface ToolCall {
  readonly name: string
  readonly input: unknown
}

/** Returns the calls that a prompt asks for. */
export const callsIn = (prompt: string): readonly ToolCall[] =>
  [...withoutReminders(prompt).matchAll(/^CALL (\S+) (\{.*\})\s*$/gm)].map(([, name = '', input = '{}']) => ({
    name,
    input: JSON.parse(input) as unknown,
  }))

/** Returns the number of tokens that a prompt asks for. */
export const usageIn = (prompt: string): number | undefined => {
  const [, count] = /\bUSAGE (\d+)/.exec(withoutReminders(prompt)) ?? []
  return count === undefined ? undefined : Number(count)
}

const withoutReminders = (text: string): string =>
  text.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '')

type Content = ApiRequest['messages'][number]['content']
const blocksIn = (content: Content) =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
const textsIn = (content: Content): string =>
  blocksIn(content)
    .map((block) => (typeof block['text'] === 'string' ? block['text'] : ''))
    .join('\n')

/**
 * Returns the `reply` of a strict stand-in for the Messages API.
 *
 * @param thinks true to think where the request enables it
 */
export const scriptedModel = (thinks = false): ((body: ApiRequest, n: number) => ApiReply | ApiFailure) => {
  const refused = new Set<string>()
  return ({ messages, system = '', thinking }, n) => {
    const last = messages.findLast(({ role }) => role === 'user')
    const prompt = last ? textsIn(last.content) : ''
    const hasResults = last !== undefined && blocksIn(last.content).some(({ type }) => type === 'tool_result')
    if (isSummaryAsked(prompt, textsIn(system)))
      return { content: [{ type: 'text', text: `<summary>Summary ${n} of what was said.</summary>` }] }
    if (/\bOVERLOADED\b/.test(prompt) && !refused.has(prompt)) {
      refused.add(prompt)
      return { ...failures.overloaded, retryAfter: 0.001 }
    }
    const calls = hasResults ? [] : callsIn(prompt)
    const input = usageIn(prompt)
    const isThought = thinks && thinking !== undefined && thinking.type !== 'disabled'
    return {
      content: [
        ...(isThought ? [{ type: 'thinking', thinking: `Thought ${n}.`, signature: '' }] : []),
        ...(calls.length > 0
          ? calls.map(({ name, input: given }) => ({ type: 'tool_use', name, input: given }))
          : [{ type: 'text', text: `Reply ${n}.` }]),
      ],
      ...(input !== undefined && { usage: { input_tokens: input } }),
    }
  }
}

const isSummaryAsked = (prompt: string, system: string): boolean =>
  /Respond with TEXT ONLY/.test(prompt) || /context summarization (?:assistant|agent)/.test(system)
