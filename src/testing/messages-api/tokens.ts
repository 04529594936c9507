import type { ApiBlock } from './blocks.ts'
import { inside, isThinking, textOf } from './request.ts'

// Token counts of this server's models. They depend on the kinds of characters, so that no estimate by length is right for every text:
// - letters: one token for every five, or for the rest of a word;
// - digits: one token for every three, or for the rest of a number;
// - white space: no token for a single space, otherwise one for each run;
// - every other ASCII character, and every UTF-16 code unit beyond ASCII: one token.

const kinds = { letter: 0, digit: 1, space: 2, other: 3 } as const
/** Maximum number of characters per token, by kind of character. */
const lengths = [5, 3, Infinity, 1]

/** Kind of each ASCII character, indexed by character code. */
const kindOfAscii = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z]/i.test(character)) return kinds.letter
  if (/\d/.test(character)) return kinds.digit
  return /\s/.test(character) ? kinds.space : kinds.other
})
const kindOf = (code: number): number => kindOfAscii[code] ?? kinds.other

/** Returns the end index of the longest prefix with at most `limit` tokens, and the number of tokens in the prefix. */
const scan = (text: string, limit: number): { readonly end: number; readonly tokens: number } => {
  let tokens = 0
  let at = 0
  while (at < text.length) {
    const kind = kindOf(text.charCodeAt(at))
    const most = lengths[kind] ?? 1
    let end = at + 1
    while (end < text.length && end - at < most && kindOf(text.charCodeAt(end)) === kind) end++
    const cost = kind === kinds.space && end - at === 1 && text[at] === ' ' ? 0 : 1
    if (tokens + cost > limit) break
    tokens += cost
    at = end
  }
  return { end: at, tokens }
}

export const textTokens = (text: string): number => scan(text, Infinity).tokens

/** Returns the longest prefix of a text with at most `limit` tokens, without splitting a character. */
export const firstTokens = (text: string, limit: number): string => {
  const { end } = scan(text, limit)
  return text.slice(0, end).isWellFormed() ? text.slice(0, end) : text.slice(0, end - 1)
}

/** Fixed token cost of a block, without its text. */
const perBlock = 3
const perImage = 1_500
const perTool = 12
/** Fixed token cost of a message, without its blocks. `perRequest` is the fixed token cost of a request, without its messages. */
export const perMessage = 4
export const perRequest = 7

const jsonTokens = (fields: Readonly<Record<string, unknown>>): number =>
  textTokens(JSON.stringify({ ...fields, cache_control: undefined }))

export const toolTokens = (tool: Readonly<Record<string, unknown>>): number => perTool + jsonTokens(tool)

/**
 * Counts the tokens of a block. An image has a fixed cost, and the signature of a thinking block costs nothing. Block types without a
 * specific rule are counted by their JSON.
 */
export const blockTokens = (block: ApiBlock): number => {
  if (block.type === 'text') return perBlock + textTokens(textOf(block, 'text'))
  if (isThinking(block)) return perBlock + textTokens(textOf(block, 'thinking'))
  if (block.type === 'image') return perImage
  if (block.type === 'tool_use') return perBlock + textTokens(textOf(block, 'name')) + inputTokens(block)
  if (block.type !== 'tool_result') return perBlock + jsonTokens(block)
  const { content } = block
  return typeof content === 'string'
    ? 2 * perBlock + textTokens(content)
    : inside(block).reduce((sum, inner) => sum + blockTokens(inner), perBlock)
}

const inputTokens = ({ input }: ApiBlock): number => textTokens(JSON.stringify(input) ?? '')
