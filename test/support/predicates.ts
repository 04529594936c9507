import type { Block } from '../../src/events/blocks.ts'
import type { RenderResult, RenderOptions } from '../../src/projections/render/render.ts'
import type { SentRequest } from '../../src/agent/receipts/canonical.ts'
import { blocksIn } from './block-table.ts'
import { historyPredicates, type History } from './history-predicates.ts'
import { mediaPredicates } from './media-predicates.ts'
import { toolPredicates } from './tool-predicates.ts'

// The eighteen predicates of a valid request, one function each: they say what is wrong, with the API's own error text where it
// has one. 1–10, 13, 14, 17 and 18 look at a request alone (5–8 are in tool-predicates.ts, 17 and 18 in media-predicates.ts); the others, in history-predicates.ts, at the
// log behind it as well.

/** A request, how it was asked for, and where it comes from. */
export interface Case {
  readonly rendered: SentRequest & Pick<RenderResult, 'repairs' | 'awaits'>
  readonly options?: RenderOptions
  /** Whether the last assistant message said `pause_turn`. */
  readonly paused?: boolean
  readonly history?: History
}
export type Predicate = (request: Case) => readonly string[]
export interface RequestMessage {
  readonly role: string
  readonly content: readonly Block[]
}

const list = (value: unknown): readonly Block[] => (Array.isArray(value) ? (value as readonly Block[]) : [])

/** The blocks of a message and those inside its tool results. */
const deep = (content: readonly Block[]): readonly Block[] =>
  content.flatMap((block) => (block.type === 'tool_result' ? [...list(block['content']), block] : [block]))

const isFullCompaction = (block: Block | undefined): boolean =>
  block?.type === 'compaction' && block['content'] !== null

const where = (messages: readonly RequestMessage[], find: (content: readonly Block[]) => boolean): string[] =>
  messages.flatMap(({ content }, index) => (find(content) ? [`messages.${index}`] : []))

const first: Predicate = ({ rendered: { messages, awaits } }) => {
  if (messages.length === 0)
    return awaits === 'beginning' ? [] : ['messages: at least one message is required']
  if (awaits === 'beginning') return ['awaits: something has been said']
  if (messages.length > 100_000) return ['messages: at most 100000 messages']
  const begins = messages[0]?.role === 'user' || isFullCompaction(messages[0]?.content[0])
  return begins ? [] : ['messages: first message must use the "user" role']
}

const alternate: Predicate = ({ rendered: { messages } }) =>
  messages.flatMap(({ role, content }, index) => {
    const before = messages[index - 1]
    if (before?.role === role) return [`messages.${index}: roles must alternate`]
    if (role !== 'system')
      return before?.role === 'system' && role === 'user' ? [`messages.${index}: user after system`] : []
    const isAnswered = list(before?.content).every(({ type }) => type !== 'tool_use')
    return before?.role === 'user' && isAnswered && content.length > 0
      ? []
      : [`messages.${index}: a system message follows a user message`]
  })

const isBlank = (block: Block): boolean => block.type === 'text' && !/\S/.test(block.text)

const nonEmpty: Predicate = ({ rendered: { system, messages } }) => [
  ...where(messages, (content) => content.length === 0).map(
    (at) => `${at}: all messages must have non-empty content except for the optional final assistant message`,
  ),
  ...where(messages, (content) => deep(content).some(isBlank)).map(
    (at) => `${at}: text content blocks must be non-empty / must contain non-whitespace text`,
  ),
  ...(list(system).some(isBlank) || system === '' || (typeof system === 'string' && !/\S/.test(system))
    ? ['system: text content blocks must be non-empty']
    : []),
]

const table = new Map(
  ['user', 'assistant', 'system', 'tool_result'].map((place) => [place, new Set(blocksIn(place))]),
)
const allowed = (place: string): ReadonlySet<string> => table.get(place) ?? new Set()

const roles: Predicate = ({ rendered: { system, messages } }) => [
  ...messages.flatMap(({ role, content }, index) =>
    content.flatMap((block, at) => {
      const inside = block.type === 'tool_result' ? list(block['content']) : []
      const isWrong =
        !allowed(role).has(block.type) ||
        (block.type === 'compaction' && index + at > 0) ||
        (role === 'user' && block.type === 'text' && 'citations' in block) ||
        inside.some(({ type }) => !allowed('tool_result').has(type))
      return isWrong
        ? [`messages.${index}.content.${at}: ${block.type} is not allowed in ${role} content`]
        : []
    }),
  ),
  ...(list(system).some(({ type }) => type !== 'text') ? ['system: only text'] : []),
]

const ends: Predicate = ({ rendered: { messages, awaits }, options, paused }) => {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant') return last && awaits === 'user' ? ['awaits: the model is to answer'] : []
  if (options?.prefill)
    return block?.type === 'text' && /\s$/.test(block.text)
      ? ['final assistant content cannot end with trailing whitespace']
      : []
  return awaits === 'user' || paused
    ? []
    : [
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      ]
}

const isThinking = (block: Block | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking'

const endsInThinking: Predicate = ({ rendered: { messages } }) =>
  where(messages, (content) => isThinking(content.at(-1))).map(
    (at) => `${at}: The final block in an assistant message cannot be \`thinking\`.`,
  )

/** JSON with every lone surrogate, which no request can hold, replaced. */
const mended = (json: string): string => json.replaceAll(/\\ud[89a-f]../g, '\ufffd')

const compactedOnce: Predicate = ({ rendered: { messages }, history }) => {
  const full = messages.flatMap(({ content }, index) =>
    content.flatMap((block, at) => (isFullCompaction(block) ? [{ block, isFirst: index + at === 0 }] : [])),
  )
  const isStored = (block: Block): boolean =>
    !history || mended(JSON.stringify(history.log)).includes(mended(JSON.stringify(block)))
  return full.length > 1 || full.some(({ block, isFirst }) => !isFirst || !isStored(block))
    ? ['compaction: one block, first in messages, as it was stored']
    : []
}

const cached: Predicate = ({ rendered: { system, tools, messages } }) => {
  const parts = [...list(tools), ...list(system), ...messages.flatMap(({ content }) => deep(content))]
  const marked = parts.filter((part) => part['cache_control'])
  const ttls = marked.map((part) => JSON.stringify(part['cache_control']).includes('"1h"'))
  return [
    ...(marked.length > 4
      ? [`A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`]
      : []),
    ...(marked.some((part) => isThinking(part) || (part.type === 'text' && part['text'] === ''))
      ? ['cache_control cannot be set for thinking or empty text blocks']
      : []),
    ...(ttls.lastIndexOf(true) > ttls.indexOf(false) && ttls.includes(false)
      ? ["a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"]
      : []),
  ]
}

const wellFormed: Predicate = ({ rendered: { system, tools, messages } }) =>
  /[^\\](\\\\)*\\u[dD][89a-fA-F]/.test(JSON.stringify([system, tools, messages]))
    ? ['the request body is not valid JSON: lone surrogate']
    : []

/** By number; 0 is what JSON itself asks for. */
export const predicates: Readonly<Record<number, Predicate>> = {
  0: wellFormed,
  1: first,
  2: alternate,
  3: nonEmpty,
  4: roles,
  5: toolPredicates.answered,
  6: toolPredicates.expected,
  7: toolPredicates.wellNamed,
  8: toolPredicates.served,
  9: ends,
  10: endsInThinking,
  11: historyPredicates.thinkingIsStored,
  12: historyPredicates.thinkingIsBound,
  13: compactedOnce,
  14: cached,
  15: historyPredicates.isMonotonic,
  16: historyPredicates.isPure,
  17: mediaPredicates.pictured,
  18: mediaPredicates.roomy,
}

/** All that is wrong with a request, each with the number of the predicate. */
export const violations = (request: Case): readonly string[] =>
  Object.entries(predicates).flatMap(([number, predicate]) =>
    predicate(request).map((problem) => `${number}: ${problem}`),
  )
