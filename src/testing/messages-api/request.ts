import type { ApiBlock } from './blocks.ts'
import type { ApiRole } from './blocks.ts'
import { lazyCanonical } from './canonical.ts'

/** Limits and features of a model. */
export interface ApiModel {
  /** Maximum number of input and output tokens together. */
  readonly contextWindow: number
  /** Maximum value of `max_tokens`. */
  readonly maxOutput: number
  /** True if a request may end with an assistant message, which the model then continues. */
  readonly prefill: boolean
  /** True if `messages` may contain messages with the role `system`. */
  readonly systemMessages: boolean
  /** Minimum length of a prefix that is cached, in tokens. */
  readonly minCached: number
}

type Fields = Readonly<Record<string, unknown>>

/** Request body that has passed `shapeProblem`. */
export interface ApiRequest extends Fields {
  readonly model: string
  /** Maximum number of output tokens; absent in a request that only counts tokens. */
  readonly max_tokens?: number
  readonly messages: readonly {
    readonly role: ApiRole
    /** Absent only in a system message with settings. */
    readonly content: string | readonly ApiBlock[]
    /** Settings from this message on; only of a system message. */
    readonly output_config?: Fields | null
  }[]
  readonly system?: string | readonly ApiBlock[]
  readonly tools?: readonly Fields[]
  readonly stream?: boolean
  readonly thinking?: { readonly type: string }
}

/** A block of a message, with the indexes of the message (`message`) and of the block in it (`at`). */
export interface PlacedBlock {
  readonly role: ApiRole
  readonly block: ApiBlock
  /** Returns the block's canonical JSON. */
  readonly text: () => string
  readonly message: number
  readonly at: number
}

/** One message, or several consecutive messages with the same role, which the API combines. */
export interface Turn {
  readonly role: ApiRole
  /** Index of the turn's first message. */
  readonly message: number
  readonly parts: readonly PlacedBlock[]
  /** Returns the canonical JSON of the message's settings; undefined if it has none. */
  readonly settings: (() => string) | undefined
}

/** A parsed request body. String contents are converted to text blocks. */
export interface ParsedRequest {
  readonly body: ApiRequest
  readonly system: readonly ApiBlock[]
  readonly tools: readonly Fields[]
  readonly turns: readonly Turn[]
  readonly parts: readonly PlacedBlock[]
  /** Returns the canonical JSON of the system prompt and the tools. */
  readonly frame: () => string
}

/** Reason for refusing a request, with the fields of the error response. */
export interface ApiRefusal {
  readonly message: string
  /** HTTP status: 404 for an unknown model, otherwise 400. */
  readonly status?: 404
  /** Value of `error.details.error_code` in the response. */
  readonly code?: string
}
export const problem = (message: string, code?: string): ApiRefusal => ({
  message,
  ...(code !== undefined && { code }),
})

export const pathOf = ({ message, at }: PlacedBlock): string => `messages.${message}.content.${at}`

export const isThinking = ({ type }: ApiBlock): boolean => type === 'thinking' || type === 'redacted_thinking'

/** Returns a string field of a block; an empty string if the block lacks the field. */
export const textOf = (block: ApiBlock | undefined, field: string): string => {
  const value = block?.[field]
  return typeof value === 'string' ? value : ''
}

/** Returns the blocks inside a tool result. */
export const inside = (block: ApiBlock): readonly ApiBlock[] =>
  block.type === 'tool_result' && Array.isArray(block['content'])
    ? (block['content'] as readonly ApiBlock[])
    : []

/** Block types for the results of server tools. */
export const serverResults: readonly string[] = [
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_result',
]

/** Required string fields, by block type. */
const strings = new Map<string, readonly string[]>(
  Object.entries({
    text: ['text'],
    thinking: ['thinking', 'signature'],
    redacted_thinking: ['data'],
    tool_use: ['id', 'name'],
    server_tool_use: ['id', 'name'],
    mcp_tool_use: ['id', 'name'],
    tool_result: ['tool_use_id'],
    ...Object.fromEntries(serverResults.map((type) => [type, ['tool_use_id']])),
  }),
)

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// The problems that these functions return begin with the rest of the path.

const blockProblem = (block: unknown): string | undefined => {
  if (!isObject(block)) return ': Input should be an object'
  const { type, content } = block
  if (typeof type !== 'string') return '.type: Field required'
  for (const field of strings.get(type) ?? []) {
    if (block[field] === undefined) return `.${type}.${field}: Field required`
    if (typeof block[field] !== 'string') return `.${type}.${field}: Input should be a valid string`
  }
  if (type !== 'tool_result' || content === undefined) return undefined
  const found = contentProblem(content)
  return found && `.tool_result.content${found}`
}

const contentProblem = (content: unknown): string | undefined => {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return ': Input should be a valid string or list'
  return firstProblem(content, blockProblem)
}

const efforts: ReadonlySet<unknown> = new Set(['low', 'medium', 'high', 'xhigh', 'max'])

/** Returns the problem with the settings of a message. The API takes the effort, of a system message. */
const settingsProblem = (role: ApiRole, settings: unknown): string | undefined => {
  if (role !== 'system') return ': Extra inputs are not permitted'
  if (settings === null) return undefined
  if (!isObject(settings)) return ': Input should be an object'
  const other = Object.keys(settings).find((name) => name !== 'effort')
  if (other !== undefined) return `.${other}: Extra inputs are not permitted`
  const effort = settings['effort'] ?? null
  return effort === null || efforts.has(effort)
    ? undefined
    : ".effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
}

const hasSettings = (settings: unknown): boolean =>
  isObject(settings) && (settings['effort'] ?? null) !== null

const messageProblem = (message: unknown): string | undefined => {
  if (!isObject(message)) return ': Input should be an object'
  const { role, content, output_config: settings } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    return ".role: Input should be 'user', 'assistant' or 'system'"
  const wrong = settings === undefined ? undefined : settingsProblem(role, settings)
  if (wrong !== undefined) return `.output_config${wrong}`
  if (content === undefined) return hasSettings(settings) ? undefined : '.content: Field required'
  const found = contentProblem(content)
  return found && `.content${found}`
}

/** Returns the first problem found in a list, preceded by the index of its item. */
export const firstProblem = <T>(
  all: readonly T[],
  find: (one: T) => string | undefined,
): string | undefined => {
  for (const [at, one] of all.entries()) {
    const found = find(one)
    if (found !== undefined) return `.${at}${found}`
  }
  return undefined
}

const maxMessages = 100_000

/** Returns the problem that prevents a body from being read, such as a missing field or a field of the wrong type. */
export const shapeProblem = (body: unknown): string | undefined => {
  if (!isObject(body)) return 'Input should be an object'
  const { model, messages, system, tools } = body
  if (model === undefined) return 'model: Field required'
  if (typeof model !== 'string') return 'model: Input should be a valid string'
  if (messages === undefined) return 'messages: Field required'
  if (!Array.isArray(messages)) return 'messages: Input should be a valid list'
  if (messages.length > maxMessages)
    return `messages: List should have at most ${maxMessages} items after validation, not ${messages.length}`
  const found = firstProblem(messages, messageProblem)
  if (found !== undefined) return `messages${found}`
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isObject)))
    return 'tools: Input should be a valid list'
  const wrong = system === undefined ? undefined : contentProblem(system)
  return wrong && `system${wrong}`
}

const blocksOf = (content: string | readonly ApiBlock[]): readonly ApiBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

export const readRequest = (body: ApiRequest): ParsedRequest => {
  const turns: (Omit<Turn, 'parts'> & { readonly parts: PlacedBlock[] })[] = []
  for (const [message, { role, content: given, output_config }] of body.messages.entries()) {
    const content = (given as typeof given | undefined) ?? []
    const settings = hasSettings(output_config) ? lazyCanonical(output_config) : undefined
    // An empty string is empty content, not an empty text block.
    const blocks = content === '' ? [] : blocksOf(content)
    const parts = blocks.map((block, at) => ({ role, block, text: lazyCanonical(block), message, at }))
    const last = turns.at(-1)
    if (last?.role === role && role !== 'system' && last.parts.length > 0 && parts.length > 0)
      for (const part of parts) last.parts.push(part)
    else turns.push({ role, message, parts, settings })
  }
  const system = blocksOf(body.system ?? [])
  const tools = body.tools ?? []
  return {
    body,
    system,
    tools,
    frame: lazyCanonical([system, tools]),
    turns,
    parts: turns.flatMap(({ parts }) => parts),
  }
}
