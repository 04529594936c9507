import type { ApiBlock } from './blocks.ts'
import { mediaProblem } from './media-rules.ts'
import {
  firstProblem,
  inside,
  isThinking,
  type ApiModel,
  type PlacedBlock,
  pathOf,
  problem,
  type ApiRefusal,
  type ParsedRequest,
  serverResults,
  textOf,
  type Turn,
} from './request.ts'
import { toolRules } from './tool-rules.ts'

// Predicates 1–10, 13 and 14 of a valid request, which depend on the request alone (5–8 are in tool-rules.ts), each with the API's own
// error message where it is known. Predicates 11 and 12 need the server's signatures.

/**
 * A rule for requests. Returns the problem with a request; undefined if it complies.
 *
 * @param paused number of blocks at the end of the request that repeat a reply stopped with `pause_turn`
 */
export type Rule = (request: ParsedRequest, model: ApiModel, paused: number) => ApiRefusal | undefined

/** Returns the first problem found in the blocks, preceded by the block's path. `find` returns the problem with the rest of the path. */
const firstOf = (
  parts: readonly PlacedBlock[],
  find: (part: PlacedBlock) => string | undefined,
): ApiRefusal | undefined => {
  for (const part of parts) {
    const found = find(part)
    if (found !== undefined) return problem(`${pathOf(part)}${found}`)
  }
  return undefined
}

/** Returns the first problem found in the blocks inside a tool result, preceded by the block's path. */
const firstInside = (block: ApiBlock, find: (inner: ApiBlock) => string | undefined): string | undefined => {
  const found = firstProblem(inside(block), find)
  return found && `.tool_result.content${found}`
}

/** Predicate 1: the first message has the role `user`, or begins with a compaction block that has content. */
const begins: Rule = ({ turns }) => {
  const [first] = turns
  if (!first) return problem('messages: at least one message is required')
  const begin = first.parts[0]?.block
  return first.role === 'user' || (first.role === 'assistant' && begin && isFull(begin))
    ? undefined
    : problem('messages: first message must use the "user" role')
}

/** Reports whether a turn only sets the effort. */
const setsOnly = ({ parts, settings }: Turn): boolean => parts.length === 0 && settings !== undefined

/**
 * Predicate 2: a `system` message follows a user message and is the last message or is followed by an assistant message. A message
 * that only sets the effort may come anywhere but first; next to one with content, both follow the rule. The model must support such
 * messages.
 */
const systemMessages: Rule = ({ turns }, { systemMessages: isKnown }) => {
  if (!isKnown && turns.some(({ role }) => role === 'system'))
    return problem(
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    )
  const spoken = turns.filter((turn) => !setsOnly(turn))
  for (const [index, { role, message }] of spoken.entries()) {
    if (role !== 'system') continue
    const [before, after] = [spoken[index - 1]?.role, spoken[index + 1]?.role]
    if (before === 'system')
      return problem(`messages.${message}: consecutive system messages are not allowed`)
    if (before !== 'user') return problem(`messages.${message}: a system message must follow a user message`)
    if (after === 'user')
      return problem(
        `messages.${message}: a system message must be the last message or be followed by an assistant message`,
      )
  }
  return undefined
}

const blank = (block: ApiBlock): string | undefined => {
  if (block.type !== 'text') return undefined
  if (block['text'] === '') return ': text content blocks must be non-empty'
  return /\S/.test(textOf(block, 'text'))
    ? undefined
    : ': text content blocks must contain non-whitespace text'
}

/** Predicate 3: messages and text blocks are not empty. The final assistant message may be empty. */
const nonEmpty: Rule = ({ turns, parts, system }) => {
  const empty = turns.find(
    (turn, index) =>
      turn.parts.length === 0 &&
      !setsOnly(turn) &&
      !(turn.role === 'assistant' && index > 0 && index === turns.length - 1),
  )
  if (empty)
    return problem(
      `messages.${empty.message}: all messages must have non-empty content except for the optional final assistant message`,
    )
  const found = firstProblem(system, blank)
  if (found !== undefined) return problem(`system${found}`)
  return firstOf(parts, ({ block }) => blank(block) ?? firstInside(block, blank))
}

const places: Readonly<Record<string, ReadonlySet<string>>> = {
  user: new Set([
    'text',
    'image',
    'document',
    'search_result',
    'tool_result',
    'container_upload',
    'compaction',
  ]),
  assistant: new Set([
    'text',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'mcp_tool_use',
    'compaction',
    ...serverResults,
  ]),
  // A compaction passes this rule, because predicate 13 has a separate error for it.
  system: new Set(['text', 'compaction']),
  tool_result: new Set(['text', 'image', 'document', 'search_result', 'tool_reference']),
}
const known = new Set(Object.values(places).flatMap((types) => [...types]))

const misplaced = ({ type }: ApiBlock, place: string): string | undefined => {
  if (!known.has(type))
    return `: Input tag '${type}' found using 'type' does not match any of the expected tags`
  return places[place]?.has(type) ? undefined : `: \`${type}\` blocks are not allowed in ${place} content`
}

/** Predicate 4: each block has a known type that is allowed for its role or inside a tool result. */
const roles: Rule = ({ parts, system }) => {
  const other = system.findIndex(({ type }) => type !== 'text')
  if (other >= 0) return problem(`system.${other}.type: Input should be 'text'`)
  return firstOf(parts, ({ role, block }) => {
    if (role === 'user' && block.type === 'text' && (block['citations'] ?? null) !== null)
      return '.text.citations: Extra inputs are not permitted'
    return misplaced(block, role) ?? firstInside(block, (inner) => misplaced(inner, 'tool_result'))
  })
}

/**
 * Predicate 9: the last message is not an assistant message, unless the model supports prefill or the message is a paused reply. A
 * prefill must not end in white space.
 */
const ends: Rule = ({ turns }, { prefill }, paused) => {
  const last = turns.findLast((turn) => !setsOnly(turn))
  if (last?.role !== 'assistant' || paused > 0) return undefined
  if (!prefill)
    return problem(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  const block = last.parts.at(-1)?.block
  return block?.type === 'text' && /\s$/.test(textOf(block, 'text'))
    ? problem('messages: final assistant content cannot end with trailing whitespace')
    : undefined
}

/** Predicate 10: an assistant message does not end with a thinking block. */
const endsInThinking: Rule = ({ turns }) => {
  for (const { role, message, parts } of turns) {
    const last = parts.at(-1)
    if (role === 'assistant' && last && isThinking(last.block))
      return problem(`messages.${message}: The final block in an assistant message cannot be \`thinking\`.`)
  }
  return undefined
}

/** Reports whether a compaction block replaces earlier messages. A block with null content reports a failed compaction instead. */
export const isFull = ({ type, content }: ApiBlock): boolean =>
  type === 'compaction' && (content ?? null) !== null

/**
 * Predicate 13: at most one compaction block has content, and it is the first block of the conversation. A failed compaction replaces
 * nothing and may be anywhere in an assistant message.
 */
const compaction: Rule = ({ parts }) => {
  const all = parts.filter(({ block }) => block.type === 'compaction')
  const empty = all.find(({ block }) => block['content'] === '')
  if (empty) return problem(`${pathOf(empty)}.compaction.content: String should have at least 1 character`)
  if (all.filter(({ block }) => isFull(block)).length > 1)
    return problem(
      'messages: more than one `compaction` block with content. Send only the block the conversation returned last.',
      'compaction_block_ambiguous',
    )
  const wrong = all.find((part) => part !== parts[0] && (isFull(part.block) || part.role !== 'assistant'))
  return wrong || all[0]?.role === 'system'
    ? problem(
        `${pathOf(wrong ?? (all[0] as PlacedBlock))}: a \`compaction\` block must be the first block of the conversation`,
        'compaction_block_misplaced',
      )
    : undefined
}

const maxBreakpoints = 4

type Fields = Readonly<Record<string, unknown>>

const markedAt = (block: Fields, path: () => string): readonly { block: Fields; path: string }[] =>
  block['cache_control'] ? [{ block, path: path() }] : []

/**
 * Predicate 14: at most four blocks have `cache_control`, none of them thinking or empty text, and a TTL of `1h` never comes after
 * `5m`.
 */
const breakpoints: Rule = ({ body, tools, system, parts }) => {
  const marked = [
    ...tools.flatMap((block, at) => markedAt(block, () => `tools.${at}`)),
    ...system.flatMap((block, at) => markedAt(block, () => `system.${at}`)),
    ...parts.flatMap((part) => [
      ...inside(part.block).flatMap((block, at) =>
        markedAt(block, () => `${pathOf(part)}.tool_result.content.${at}`),
      ),
      ...markedAt(part.block, () => pathOf(part)),
    ]),
    ...markedAt(body, () => 'body'),
  ]
  const empty = marked.find(({ block }) => block['type'] === 'text' && block['text'] === '')
  if (empty) return problem(`${empty.path}.text: cache_control cannot be set for empty text blocks`)
  const thought = marked.find(({ block }) => isThinking(block as ApiBlock))
  if (thought)
    return problem(
      `${thought.path}.${String(thought.block['type'])}.cache_control: Extra inputs are not permitted`,
    )
  if (marked.length > maxBreakpoints)
    return problem(
      `A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${marked.length}.`,
    )
  const short = marked.findIndex(({ block }) => ttlOf(block) === '5m')
  const late = marked.find(({ block }, index) => short >= 0 && index > short && ttlOf(block) === '1h')
  return late
    ? problem(
        `${late.path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`,
      )
    : undefined
}

/** Returns the lifetime of the cached prefix that ends with this block; undefined if the block has no cache breakpoint. */
export const ttlOf = (block: Readonly<Record<string, unknown>>): '5m' | '1h' | undefined => {
  const control = block['cache_control']
  if (typeof control !== 'object' || control === null) return undefined
  return 'ttl' in control && control.ttl === '1h' ? '1h' : '5m'
}

const rules: readonly Rule[] = [
  // First, because an empty text with a breakpoint is refused because of its breakpoint.
  breakpoints,
  begins,
  roles,
  nonEmpty,
  compaction,
  mediaProblem,
  ...toolRules.map(
    (rule): Rule =>
      (request, _, paused) =>
        rule(request, paused),
  ),
  systemMessages,
  endsInThinking,
  ends,
]

/** Returns the first problem of a request, checking all rules in order. */
export const ruleProblem: Rule = (request, model, paused) => {
  for (const rule of rules) {
    const found = rule(request, model, paused)
    if (found) return found
  }
  return undefined
}
