import { type Block, unknownBlock } from '../../events/blocks.ts'
import type { Configuration } from '../../events/events.ts'
import {
  type ConversationDraft,
  leaveOutFields,
  listActions,
  parametersOf,
  planOf,
  type RoleContent,
} from './messages.ts'
import { blocksOfParts, callsOf, toolOf } from './openai-blocks.ts'
import { type DocumentFormat, someHave } from './format.ts'
import type { ConversationPlan } from './plan.ts'
import type { Shelf } from './shelf.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { type FileEntry, type ImportNotes, stringOf } from './source.ts'

const callFields = ['tool_calls', 'tool_call_id', 'function_call']
const known = new Set(['role', 'content', 'refusal', 'reasoning_content', ...callFields])
// A result's name is in its call.
const knownOfResult = new Set([...known, 'name'])
// Fields that the file of an experiment contains in addition to the request.
const outcome = ['task_id', 'trial', 'reward', 'info']
const ids = ['id', 'session_id', 'conversation_id']
const owned = [...ids, ...outcome, 'messages', 'traj', 'tools', 'functions', 'model']

/**
 * Format for OpenAI Chat requests and for records of experiments with them. It is recognised by tool calls, roles, a leading system
 * message, or function tools.
 */
export const openAi: DocumentFormat = {
  name: 'openai',
  recognises: (messages, { tools }) =>
    someHave(messages, callFields) ||
    messages.some(({ role }) => role === 'developer' || isResult({ role })) ||
    messages[0]?.['role'] === 'system' ||
    (Array.isArray(tools) && tools.some((tool) => isFields(tool) && isFields(tool['function']))),
  parse: (draft, notes, shelf) => parseOpenAi(draft, notes, shelf),
}

/** Parses OpenAI's Chat format. Leading system or developer messages become the system prompt. */
const parseOpenAi = (
  draft: ConversationDraft,
  notes: ImportNotes,
  shelf: Shelf,
): readonly ConversationPlan[] => {
  const { owner, messages } = draft
  const start = messages.findIndex(({ fields }) => !isSystem(fields))
  const leading = start < 0 ? messages : messages.slice(0, start)
  const rest = messages.slice(leading.length)
  const calls = functionCalls()
  const said = rest.map(({ line, fields }, index) => {
    leaveOutFields(fields, isResult(fields) ? knownOfResult : known, notes)
    return { line, kind: String(fields['role']), said: sayOf(fields, index, calls) }
  })
  for (const field of outcome)
    if (owner[field] !== undefined)
      notes.leftOut(`field ${field}`, 'a field of an experiment, not of the conversation')
  return planOf('openai', draft, listActions(configurationOf(owner, leading, notes), said, { notes, shelf }))
}

const isSystem = ({ role }: Fields): boolean => role === 'system' || role === 'developer'

const isResult = ({ role }: Fields): boolean => role === 'tool' || role === 'function'

const configurationOf = (owner: Fields, leading: readonly FileEntry[], notes: ImportNotes): Configuration => {
  const blocks = leading.flatMap(({ fields }) => blocksOfParts(fields['content']))
  for (const { fields } of leading) notes.mapped(`message ${String(fields['role'])}, leading`)
  const [only] = blocks
  const tools = [owner['tools'], owner['functions']].flatMap((list) => (Array.isArray(list) ? list : []))
  const parameters = parametersOf(owner, owned)
  return {
    ...(only && { system: blocks.length === 1 && typeof only['text'] === 'string' ? only['text'] : blocks }),
    ...(tools.length > 0 && { tools: tools.filter(isFields).map(toolOf) }),
    ...(stringOf(owner['model']) !== undefined && { model: String(owner['model']) }),
    ...(parameters && { parameters }),
  }
}

/** Returns the state that assigns results to calls in the legacy format, which has no call ids: a result belongs to the last call. */
const functionCalls = (): { last: string } => ({ last: 'call_0' })

const sayOf = (fields: Fields, index: number, calls: { last: string }): RoleContent => {
  const { role, content } = fields
  switch (role) {
    case 'assistant': {
      const { refusal, reasoning_content: reasoning } = fields
      const made = callsOf(fields, index)
      calls.last = stringOf(made.at(-1)?.['id']) ?? calls.last
      const thinking =
        stringOf(reasoning) === undefined ? [] : [unknownBlock({ type: 'thinking', thinking: reasoning })]
      const refused = stringOf(refusal) === undefined ? [] : [unknownBlock({ type: 'text', text: refusal })]
      return { role, content: [...thinking, ...blocksOfParts(content), ...refused, ...made] }
    }
    case 'tool':
      return { role: 'user', content: [resultOf(fields['tool_call_id'], content)] }
    case 'function':
      return { role: 'user', content: [resultOf(calls.last, content)] }
    case 'developer':
      return { role: 'system', content: blocksOfParts(content) }
    default:
      return { role: role as RoleContent['role'], content: blocksOfParts(content) }
  }
}

const resultOf = (id: unknown, content: unknown): Block =>
  unknownBlock({
    type: 'tool_result',
    tool_use_id: id,
    content: typeof content === 'string' ? content : blocksOfParts(content),
  })
