import type { ApiBlock } from './blocks.ts'
import {
  type PlacedBlock,
  pathOf,
  problem,
  type ApiRefusal,
  type ParsedRequest,
  serverResults,
  textOf,
  type Turn,
} from './request.ts'

/**
 * A rule for tool calls. Returns the problem with a request; undefined if it complies.
 *
 * @param paused number of blocks at the end of the request that repeat a reply stopped with `pause_turn`
 */
type ToolRule = (request: ParsedRequest, paused: number) => ApiRefusal | undefined

const uses = ({ role, parts }: Turn): readonly PlacedBlock[] =>
  role === 'assistant' ? parts.filter(({ block }) => block.type === 'tool_use') : []

const results = (turn: Turn | undefined): readonly PlacedBlock[] =>
  turn?.parts.filter(({ block }) => block.type === 'tool_result') ?? []

const idOf = ({ block }: PlacedBlock): string =>
  textOf(block, block.type.endsWith('_result') ? 'tool_use_id' : 'id')

/** Returns the ids of the tool results at the beginning of a user message. */
const leading = ({ role, parts }: Turn): readonly string[] => {
  const end = parts.findIndex(({ block }) => block.type !== 'tool_result')
  return role === 'user' ? parts.slice(0, end < 0 ? parts.length : end).map(idOf) : []
}

/**
 * Predicates 5 and 6: each tool call has exactly one result, at the beginning of the next message, and each result belongs to a call in
 * the previous message.
 */
const answered: ToolRule = ({ turns }) => {
  for (const [index, turn] of turns.entries()) {
    const next = turns[index + 1]
    const expected = new Set(uses(turn).map(idOf))
    const found = new Set<string>()
    for (const result of results(next)) {
      const id = idOf(result)
      if (found.has(id))
        return problem(
          `${pathOf(result)}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        )
      found.add(id)
    }
    const first = new Set(next ? leading(next) : [])
    const missing = [...expected].filter((id) => !first.has(id))
    if (missing.length > 0)
      return problem(
        `messages.${turn.message}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      )
    const unexpected = results(next).find((result) => !expected.has(idOf(result)))
    if (unexpected) return unexpectedResult(unexpected)
  }
  const [first] = results(turns[0])
  return first && unexpectedResult(first)
}

const unexpectedResult = (result: PlacedBlock): ApiRefusal =>
  problem(
    `${pathOf(result)}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${idOf(result)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  )

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Predicate 7: ids of tool calls are valid and unique, and each input is an object. */
const wellNamed: ToolRule = ({ parts }) => {
  const ids = new Set<string>()
  for (const part of parts) {
    if (part.block.type !== 'tool_use') continue
    const id = idOf(part)
    if (!/^[a-zA-Z0-9_-]+$/.test(id))
      return problem(`${pathOf(part)}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
    if (ids.has(id)) return problem(`${pathOf(part)}: \`tool_use\` ids must be unique`)
    if (!isObject(part.block['input']))
      return problem(`${pathOf(part)}.tool_use.input: Input should be an object`)
    ids.add(id)
  }
  return undefined
}

const isServerUse = ({ type }: ApiBlock): boolean => type === 'server_tool_use' || type === 'mcp_tool_use'

/** Server tool uses that have no result yet, by id, with the index of the turn that contains each. */
type Waiting = Map<string, { readonly part: PlacedBlock; readonly turn: number }>

const firstOf = (waiting: Waiting): PlacedBlock | undefined => waiting.values().next().value?.part

/**
 * Returns the problem with the server tools of an assistant message. A result must come after its use in the same message, or at the
 * beginning of the next one. A use without a result is still running only if a call in this message names it as its caller.
 */
const servedIn = (
  { parts }: Turn,
  turn: number,
  waiting: Waiting,
  ids: Set<string>,
): ApiRefusal | undefined => {
  let isBeginning = true
  for (const part of parts) {
    const { block } = part
    const id = idOf(part)
    if (isServerUse(block)) {
      if (ids.has(id)) return problem(`${pathOf(part)}: \`${block.type}\` ids must be unique`)
      ids.add(id)
      waiting.set(id, { part, turn })
    } else if (serverResults.includes(block.type)) {
      const use = waiting.get(id)
      if (!use) return unexpectedServed(part)
      if (use.turn < turn && !isBeginning) return unserved(use.part)
      waiting.delete(id)
      continue
    }
    isBeginning = false
  }
  const running = new Set(parts.flatMap(({ block }) => callerOf(block) ?? []))
  const late = waiting.entries().find(([id, use]) => use.turn < turn && !running.has(id))
  return late && unserved(late[1].part)
}

const callerOf = ({ type, caller }: ApiBlock): unknown =>
  type === 'tool_use' && typeof caller === 'object' && caller !== null && 'tool_id' in caller
    ? caller.tool_id
    : undefined

/**
 * Predicate 8: each server tool use has one result later in its turn, which continues across messages that contain only tool results.
 * The last turn may be incomplete if the request ends with such a message or with a paused reply.
 */
const served: ToolRule = ({ turns }, paused) => {
  const waiting: Waiting = new Map()
  let ids = new Set<string>()
  for (const [index, turn] of turns.entries()) {
    if (turn.role === 'assistant') {
      const found = servedIn(turn, index, waiting, ids)
      if (found) return found
    } else if (turn.parts.some(({ block }) => block.type !== 'tool_result')) {
      const open = firstOf(waiting)
      if (open) return unserved(open)
      ids = new Set()
    }
  }
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return undefined
  const goesOn = new Set(paused > 0 ? last.parts.slice(-paused) : [])
  const open = waiting.values().find(({ part }) => !goesOn.has(part))
  return open && unserved(open.part)
}

const unexpectedServed = (result: PlacedBlock): ApiRefusal => {
  const { type } = result.block
  const use = type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'
  return problem(
    `${pathOf(result)}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${idOf(result)}. Each \`${type}\` block must have a corresponding \`${use}\` block before it.`,
  )
}

const unserved = (use: PlacedBlock): ApiRefusal => {
  const name = use.block.type === 'mcp_tool_use' ? 'mcp' : String(use.block['name'])
  return problem(
    `${pathOf(use)}: \`${name}\` tool use with id \`${idOf(use)}\` was found without a corresponding \`${name}_tool_result\` block`,
  )
}

export const toolRules: readonly ToolRule[] = [wellNamed, answered, served]
