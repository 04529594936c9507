import type { Block } from '../../src/events/blocks.ts'
import type { Predicate, RequestMessage } from './predicates.ts'

/** The results of server tools that an assistant message may hold. */
export const serverResults: readonly string[] = [
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_result',
]
const isServerUse = ({ type }: Block): boolean => type === 'server_tool_use' || type === 'mcp_tool_use'
const isServerResult = ({ type }: Block): boolean => serverResults.includes(type)

const idsOf = (content: readonly Block[], type: string, field: string): readonly string[] =>
  content.filter((block) => block.type === type).map((block) => String(block[field]))

/** 5. Each call has its result at the beginning of the next message. */
const answered: Predicate = ({ rendered: { messages } }) =>
  messages.flatMap(({ role, content }, index) => {
    const uses = idsOf(content, 'tool_use', 'id')
    if (role !== 'assistant' || uses.length === 0) return []
    const next = messages[index + 1]
    const end = next?.content.findIndex(({ type }) => type !== 'tool_result') ?? 0
    const leading = idsOf(
      next?.content.slice(0, end < 0 ? undefined : end) ?? [],
      'tool_result',
      'tool_use_id',
    )
    const all = idsOf(next?.content ?? [], 'tool_result', 'tool_use_id')
    if (all.length > new Set(all).size)
      return [
        `messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id`,
      ]
    const missing = uses.filter((id) => !leading.includes(id))
    return next?.role === 'user' && missing.length === 0 && all.length === leading.length
      ? []
      : [
          `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join()}`,
        ]
  })

/** 6. Each result has its call in the message before. */
const expected: Predicate = ({ rendered: { messages } }) =>
  messages.flatMap(({ content }, index) => {
    const before = messages[index - 1]
    const uses = before?.role === 'assistant' ? idsOf(before.content, 'tool_use', 'id') : []
    return idsOf(content, 'tool_result', 'tool_use_id')
      .filter((id) => !uses.includes(id))
      .map((id) => `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}`)
  })

/** 7. Ids are unique and of the API's characters; inputs are objects. */
const wellNamed: Predicate = ({ rendered: { messages } }) => {
  const uses = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_use'))
  const ids = uses.map(({ id }) => String(id))
  return [
    ...(new Set(ids).size < ids.length ? ['`tool_use` ids must be unique'] : []),
    ...ids
      .filter((id) => !/^[a-zA-Z0-9_-]+$/.test(id))
      .map((id) => `tool_use.id: ${id} does not match the pattern`),
    ...uses
      .filter(({ input }) => typeof input !== 'object' || input === null || Array.isArray(input))
      .map(({ id }) => `tool_use.input of ${String(id)}: Input should be an object`),
  ]
}

/** Assistant turns: they go on across user messages that hold nothing but tool results. */
const turnsOf = (messages: readonly RequestMessage[]): readonly (readonly Block[])[] => {
  const turns: Block[][] = [[]]
  for (const { role, content } of messages)
    if (role === 'assistant') turns.at(-1)?.push(...content)
    else if (!content.every(({ type }) => type === 'tool_result')) turns.push([])
  return turns
}

/** 8. A server tool use and its result stand in one turn, in that order. */
const served: Predicate = ({ rendered: { messages } }) =>
  turnsOf(messages).flatMap((turn) =>
    turn.flatMap((block, index) => {
      const id = String(block['id'] ?? block['tool_use_id'])
      const isPartner = (other: Block): boolean => other['id'] === id || other['tool_use_id'] === id
      const after = turn.slice(index + 1).filter((other) => isServerResult(other) && isPartner(other)).length
      const before = turn.slice(0, index).filter((other) => isServerUse(other) && isPartner(other)).length
      if (isServerUse(block) && after !== 1)
        return [
          `\`${String(block['name'])}\` tool use with id ${id} was found without a corresponding result block`,
        ]
      return isServerResult(block) && before !== 1 ? [`${block.type} ${id} has no tool use before it`] : []
    }),
  )

export const toolPredicates = { answered, expected, wellNamed, served }
