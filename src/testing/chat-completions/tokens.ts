import { textTokens } from '../messages-api/tokens.ts'
import type { ChatRequest, BodyMessage, ChatModel, ChatContentPart } from './body.ts'

const perMessage = 3
const perRequest = 3
const perTool = 8
const perImage = 765
const perFile = 1_500

const partTokens = ({ type, text }: ChatContentPart): number =>
  type === 'image_url' ? perImage : typeof text === 'string' ? textTokens(text) : perFile

const messageTokens = (message: BodyMessage): number => {
  const { role: _, content, tool_calls: calls = [], ...others } = message
  const said =
    typeof content === 'string'
      ? textTokens(content)
      : (content ?? []).reduce((sum, part) => sum + partTokens(part), 0)
  const called = calls.map(({ function: made }) => textTokens(made.name + made.arguments))
  return [perMessage, said, ...called, textTokens(Object.values(others).join(' '))].reduce((a, b) => a + b)
}

/** A prompt, divided into the units that are cached: the tools, then each message. */
export interface Prompt {
  readonly tokens: number
  readonly parts: readonly { readonly text: string; readonly tokens: number }[]
}

export const promptOf = ({ messages, tools = [] }: ChatRequest): Prompt => {
  const described = tools.map((tool) => perTool + textTokens(JSON.stringify(tool.function)))
  const frame = { text: JSON.stringify(tools), tokens: described.reduce((a, b) => a + b, perRequest) }
  const said = messages.map((message) => ({ text: JSON.stringify(message), tokens: messageTokens(message) }))
  const parts = [frame, ...said]
  return { parts, tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0) }
}

/** Granularity of cached prefixes, in tokens. */
const step = 128

/**
 * Returns a function that simulates the automatic cache. It returns the number of tokens in the longest prefix shared with an earlier
 * prompt for the same model, and remembers the prompt.
 */
export const promptCache = () => {
  const seen = new Map<string, Set<string>>()
  return (name: string, { parts }: Prompt, { minCached }: ChatModel): number => {
    const known = seen.get(name) ?? new Set<string>()
    seen.set(name, known)
    let beginning = ''
    let cached = 0
    for (const { text, tokens } of parts) {
      beginning += `${text}\n`
      if (known.has(beginning)) cached += tokens
      known.add(beginning)
    }
    return cached < minCached ? 0 : cached - (cached % step)
  }
}
