import type { Block } from '../../src/events/blocks.ts'
import { serverResults } from './block-table.ts'
import type { Predicate, RequestMessage } from './predicates.ts'

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

/** Assistant turns, message by message: they go on across user messages that hold nothing but tool results. */
const turnsOf = (messages: readonly RequestMessage[]): readonly (readonly (readonly Block[])[])[] => {
  const turns: (readonly Block[])[][] = [[]]
  for (const { role, content } of messages)
    if (role === 'assistant') turns.at(-1)?.push(content)
    else if (!content.every(({ type }) => type === 'tool_result')) turns.push([])
  return turns
}

const idOf = (block: Block): string => String(isServerUse(block) ? block['id'] : block['tool_use_id'])

const callersIn = (content: readonly Block[]): readonly unknown[] =>
  content.flatMap(({ type, caller }) =>
    type === 'tool_use' ? [(caller as { tool_id?: unknown })?.tool_id] : [],
  )

/** How many of a message's first blocks are results that the messages before were promised. */
const promisedIn = (content: readonly Block[]): number => {
  const end = content.findIndex((block) => !isServerResult(block))
  return end < 0 ? content.length : end
}

/**
 * What is wrong with the server tools of a turn. @param mayWait whether results may still come in a message after the last one, as a
 * request must say so by its end
 */
const servedIn = (turn: readonly (readonly Block[])[], mayWait: boolean): readonly string[] =>
  turn.flatMap((content, index) =>
    content.flatMap((block, at) => {
      const isOwn = (other: Block): boolean => idOf(other) === idOf(block)
      const uses = turn.map((one) => one.filter((other) => isServerUse(other) && isOwn(other)).length)
      const results = turn.map((one) => one.filter((other) => isServerResult(other) && isOwn(other)).length)
      if (isServerUse(block)) {
        if (uses.reduce((sum, one) => sum + one, 0) > 1) return [`\`${block.type}\` ids must be unique`]
        const count = results.reduce((sum, one) => sum + one, 0)
        // The result is here, or begins the first message after this one that no call of its program is in.
        let next = index + 1
        while (next < turn.length && callersIn(turn[next] ?? []).includes(idOf(block))) next++
        const here = content.slice(at + 1).filter((other) => isServerResult(other) && isOwn(other)).length
        const there = (turn[next] ?? []).slice(0, promisedIn(turn[next] ?? [])).filter(isOwn).length
        const isWaiting = count === 0 && next >= turn.length && mayWait
        return isWaiting || (count === 1 && here + there === 1)
          ? []
          : [
              `\`${String(block['name'])}\` tool use with id ${idOf(block)} was found without a corresponding result block`,
            ]
      }
      if (!isServerResult(block)) return []
      const before = content.slice(0, at).some((other) => isServerUse(other) && isOwn(other))
      return before || uses.slice(0, index).some((count) => count > 0)
        ? []
        : [`${block.type} ${idOf(block)} has no tool use before it`]
    }),
  )

/** 8. A server tool use and its result stand in one turn, in that order; the last turn may wait for results as long as it is open. */
const served: Predicate = ({ rendered: { messages, awaits }, paused }) => {
  const turns = turnsOf(messages)
  const mayWait = messages.at(-1)?.role !== 'assistant' || awaits === 'user' || paused === true
  return turns.flatMap((turn, index) => servedIn(turn, mayWait && index === turns.length - 1))
}

export const toolPredicates = { answered, expected, wellNamed, served }
