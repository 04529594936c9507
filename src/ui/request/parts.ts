// Requests as parts: tools, system prompt and messages, each block with its path, in the order in which the model reads them.

export interface ApiRequestBlock {
  readonly type?: string | undefined
  readonly [field: string]: unknown
}
export interface ApiRequestMessage {
  readonly role: string
  readonly content?: unknown
  readonly [field: string]: unknown
}
/** Body of a request to the Messages API or to Chat Completions. */
export interface ApiRequestBody {
  readonly model?: unknown
  readonly system?: unknown
  readonly tools?: unknown
  readonly messages: readonly ApiRequestMessage[]
  readonly [field: string]: unknown
}

/** Block of a request with its path, as used in findings: `tools[2]`, `system[0]`, `messages[3].content[0]`. */
export interface RequestPart {
  readonly path: string
  readonly block: ApiRequestBlock
  /** Length of the block's JSON, in characters. */
  readonly size: number
  /** Lifetime of the cache breakpoint after the block: `5m` or `1h`; undefined without a breakpoint. */
  readonly breakpoint: string | undefined
}
export interface MessageParts {
  readonly index: number
  /** Positions of the events that the message comes from, each with whether the request before did not show it. */
  readonly events?: readonly { readonly position: number; readonly isNew: boolean }[]
  readonly role: string
  readonly parts: readonly RequestPart[]
}
export interface Parts {
  readonly tools: readonly RequestPart[]
  readonly system: readonly RequestPart[]
  readonly messages: readonly MessageParts[]
  /** Fields of the body other than `tools`, `system` and `messages`. */
  readonly settings: readonly (readonly [name: string, value: unknown])[]
}

const partOf = (path: string, block: ApiRequestBlock): RequestPart => {
  const { cache_control: control } = block
  const breakpoint = isFields(control) ? textOf(control['ttl'] ?? '5m') : undefined
  return { path, block, size: JSON.stringify(block).length, breakpoint }
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const nameOf = ({ name, type }: ApiRequestBlock): string => textOf(name ?? type ?? 'tool')

const blocksOf = (content: unknown): readonly ApiRequestBlock[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isFields) : []
}

/** Converts the fields of a Chat Completions message other than its role and content to blocks. */
const besides = (message: ApiRequestMessage): readonly ApiRequestBlock[] =>
  Object.entries(message).flatMap(([type, value]): readonly ApiRequestBlock[] => {
    if (type === 'role' || type === 'content') return []
    if (type !== 'tool_calls' || !Array.isArray(value)) return [{ type, value }]
    return value.filter(isFields).map((call) => ({ ...call, type: 'tool_call' }))
  })

export const partsOf = ({ tools, system, messages, ...settings }: ApiRequestBody): Parts => ({
  tools: blocksOf(tools).map((tool, index) => partOf(`tools[${index}]`, tool)),
  system: blocksOf(system).map((block, index) =>
    partOf(typeof system === 'string' ? 'system' : `system[${index}]`, block),
  ),
  messages: messages.map((message, index) => ({
    index,
    role: message.role,
    parts: [...blocksOf(message.content), ...besides(message)].map((block, at) =>
      partOf(`messages[${index}].content[${at}]`, block),
    ),
  })),
  settings: Object.entries(settings),
})

/**
 * Adds the positions of the events to the messages.
 *
 * @param isNew reports whether the call before was not shown the event at a position; undefined if that is unknown
 */
export const addPositions = (
  parts: Parts,
  positions: readonly (readonly number[])[],
  isNew: ((position: number) => boolean) | undefined,
): Parts => ({
  ...parts,
  messages: parts.messages.map((said) => ({
    ...said,
    events: (positions[said.index] ?? []).map((position) => ({
      position,
      isNew: isNew?.(position) === true,
    })),
  })),
})

/** Returns all blocks of a request, in the order in which the model reads them. */
export const inOrder = ({ tools, system, messages }: Parts): readonly RequestPart[] => [
  ...tools,
  ...system,
  ...messages.flatMap(({ parts }) => parts),
]

/**
 * Reports whether a finding's path refers to the block or to the message that contains it. For Chat Completions, findings name only the
 * message.
 */
export const isAt = ({ path }: RequestPart, place: string | undefined): boolean =>
  place !== undefined && (path === place || path.startsWith(`${place}.`))

/**
 * Returns the distinct references to secrets in a request. The secrets themselves are sent instead of the references, and are never
 * recorded.
 */
export const secretsIn = (value: unknown): readonly string[] => {
  const found = new Set<string>()
  const rest: unknown[] = [value]
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    if (!Array.isArray(one) && !isFields(one)) continue
    const reference = isFields(one) ? one['$secret'] : undefined
    if (typeof reference === 'string') found.add(reference)
    else for (const part of Object.values(one)) rest.push(part)
  }
  return [...found]
}
