import {
  type ChatToolCall,
  type JsonFields,
  first,
  firstOf,
  invalidType,
  invalidValue,
  isFields,
  type BodyMessage,
  missingParameter,
  type ChatModel,
  problem,
  type ChatRefusal,
  strayIn,
  tooLong,
  tooShort,
} from './body.ts'
import { contentProblem } from './content-rules.ts'

const roles = ['developer', 'system', 'user', 'assistant', 'tool']
const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  developer: ['role', 'content', 'name'],
  system: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'refusal', 'tool_calls'],
  tool: ['role', 'content', 'tool_call_id'],
}
const mostMessages = 2_048
const longestId = 40
const validName = /^[a-zA-Z0-9_-]{1,64}$/

/** Returns the first problem in a request's messages. Each message is checked individually before the order of the messages is checked. */
export const messagesProblem = (messages: unknown, model: ChatModel): ChatRefusal | undefined => {
  if (messages === undefined) return missingParameter('messages')
  if (!Array.isArray(messages)) return invalidType('messages', 'an array')
  if (messages.length === 0) return tooShort('messages')
  if (messages.length > mostMessages) return tooLong('messages', mostMessages, messages.length)
  const all = messages as readonly unknown[]
  return first(
    () => firstOf(all, (message, index) => shapeProblem(message, `messages[${index}]`, model)),
    () => orderProblem(all as readonly BodyMessage[]),
    () => (model.refusesUserAfterTool ? roleProblem(all as readonly BodyMessage[]) : undefined),
    () => (model.needsReasoning ? reasoningProblem(all as readonly BodyMessage[], model) : undefined),
  )
}

const shapeProblem = (message: unknown, path: string, { reasoning }: ChatModel): ChatRefusal | undefined => {
  if (!isFields(message)) return invalidType(path, 'an object')
  const { role, content, name } = message
  if (typeof role !== 'string' || !roles.includes(role))
    return invalidValue(`${path}.role`, `supported values are ${roles.join(', ')}`)
  const allowed = [...(fieldsOf[role] ?? []), ...(role === 'assistant' && reasoning ? [reasoning] : [])]
  const isCalling = role === 'assistant' && Array.isArray(message['tool_calls'])
  const isRefusing = role === 'assistant' && typeof message['refusal'] === 'string'
  const mayBeEmpty = (isCalling || isRefusing) && (content === null || content === undefined)
  return first(
    () => strayIn(message, allowed, path),
    () =>
      name !== undefined && (typeof name !== 'string' || !validName.test(name))
        ? invalidValue(`${path}.name`, 'letters, digits, _ and -, at most 64')
        : undefined,
    () => (mayBeEmpty ? undefined : contentProblem(content, role, `${path}.content`)),
    () => (role === 'assistant' ? callsProblem(message, `${path}.tool_calls`) : undefined),
    () => (role === 'tool' ? idProblem(message['tool_call_id'], `${path}.tool_call_id`) : undefined),
  )
}

const idProblem = (id: unknown, path: string): ChatRefusal | undefined => {
  if (typeof id !== 'string') return missingParameter(path)
  if (id === '') return tooShort(path, 'string')
  return id.length > longestId ? tooLong(path, longestId, id.length, 'string') : undefined
}

const callsProblem = ({ tool_calls: calls }: JsonFields, path: string): ChatRefusal | undefined => {
  if (calls === undefined) return undefined
  if (!Array.isArray(calls)) return invalidType(path, 'an array')
  if (calls.length === 0) return tooShort(path)
  return firstOf(calls as readonly unknown[], (call, index) => callProblem(call, `${path}[${index}]`))
}

const callProblem = (call: unknown, path: string): ChatRefusal | undefined => {
  if (!isFields(call)) return invalidType(path, 'an object')
  const { id, type, function: made } = call
  return first(
    () => strayIn(call, ['id', 'type', 'function'], path),
    () => idProblem(id, `${path}.id`),
    () => (type === 'function' ? undefined : invalidValue(`${path}.type`, 'supported is function')),
    () => (isFields(made) ? madeProblem(made, `${path}.function`) : missingParameter(`${path}.function`)),
  )
}

const madeProblem = (made: JsonFields, path: string): ChatRefusal | undefined => {
  const { name, arguments: given } = made
  if (typeof name !== 'string') return missingParameter(`${path}.name`)
  if (!validName.test(name)) return invalidValue(`${path}.name`, 'letters, digits, _ and -, at most 64')
  if (typeof given !== 'string') return invalidType(`${path}.arguments`, 'a string')
  return strayIn(made, ['name', 'arguments'], path)
}

/**
 * Checks that each tool call is answered exactly once, in the messages that immediately follow, and that call ids are unique within the
 * request.
 */
const orderProblem = (messages: readonly BodyMessage[]): ChatRefusal | undefined => {
  const ids = new Set<string>()
  let open = new Map<string, boolean>()
  let caller = -1
  const unanswered = (): ChatRefusal | undefined => {
    const left = [...open].filter(([, isAnswered]) => !isAnswered).map(([id]) => id)
    open = new Map()
    if (left.length === 0) return undefined
    return problem(
      `messages.[${caller}].role`,
      null,
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Without a response: ${left.join(', ')}`,
    )
  }
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      const found = answerProblem(message, open, index)
      if (found) return found
      open.set(String(message.tool_call_id), true)
      continue
    }
    const found = unanswered() ?? duplicateIn(message.tool_calls ?? [], ids, index)
    if (found) return found
    for (const { id } of message.tool_calls ?? []) {
      ids.add(id)
      open.set(id, false)
    }
    caller = index
  }
  return unanswered()
}

const answerProblem = (
  { tool_call_id: id = '' }: BodyMessage,
  open: ReadonlyMap<string, boolean>,
  index: number,
): ChatRefusal | undefined => {
  if (open.size === 0)
    return problem(
      `messages.[${index}].role`,
      null,
      `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`,
    )
  if (open.get(id) === undefined)
    return problem(
      `messages.[${index}].tool_call_id`,
      null,
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of the previous message.`,
    )
  return open.get(id) === true
    ? problem(`messages.[${index}].tool_call_id`, null, `Invalid parameter: '${id}' has a response already.`)
    : undefined
}

const duplicateIn = (
  calls: readonly ChatToolCall[],
  ids: ReadonlySet<string>,
  index: number,
): ChatRefusal | undefined => {
  const all = calls.map(({ id }) => id)
  const twice = all.find((id, at) => ids.has(id) || all.indexOf(id) !== at)
  return twice === undefined
    ? undefined
    : problem(`messages.[${index}].tool_calls`, 'duplicate_id', `Duplicate id of a tool call: '${twice}'.`)
}

const roleProblem = (messages: readonly BodyMessage[]): ChatRefusal | undefined =>
  firstOf(messages, ({ role }, index) =>
    role === 'user' && messages[index - 1]?.role === 'tool'
      ? {
          ...problem(null, '3230', "Unexpected role 'user' after role 'tool'"),
          type: 'invalid_request_message_order',
        }
      : undefined,
  )

const reasoningProblem = (
  messages: readonly BodyMessage[],
  { reasoning = 'reasoning_content' }: ChatModel,
): ChatRefusal | undefined => {
  const said = messages.findLastIndex(({ role }) => role === 'user')
  const without = messages.findIndex(
    (message, index) => index > said && message.tool_calls && typeof message[reasoning] !== 'string',
  )
  return without < 0
    ? undefined
    : problem(null, null, `Missing \`${reasoning}\` in the assistant message at index ${without}.`)
}
