import type { Configuration } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { joinReplies, messageOfItem } from './codex-items.ts'
import type { DocumentFormat } from './format.ts'
import { listActions, parametersOf, planOf, type ListedMessage } from './messages.ts'
import { toolOf } from './openai-blocks.ts'
import { type ImportNotes, stringOf } from './source.ts'

const owned = [
  'id',
  'object',
  'input',
  'output',
  'instructions',
  'tools',
  'model',
  'conversation',
  'messages',
]
const itemTypes = new Set<unknown>([
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'compaction',
])
const partTypes = new Set<unknown>(['input_text', 'output_text', 'input_image', 'input_file'])

/** Reports whether an object is an item of the Responses API and of no other API. */
export const isItem = ({ type, role, content }: Fields): boolean =>
  (itemTypes.has(type) && role === undefined) ||
  (Array.isArray(content) && content.some((part) => isFields(part) && partTypes.has(part['type'])))

/** Format for the OpenAI Responses API: a list of items, or a request or response that contains one. */
export const responses: DocumentFormat = {
  name: 'responses',
  recognises: (items, owner) => items.some(isItem) || 'input' in owner || 'output' in owner,
  parse: (draft, notes, shelf) => {
    const listed: ListedMessage[] = []
    for (const { line, fields } of draft.messages) {
      const item = { ...fields, type: fields['type'] ?? 'message' }
      const kind = item.type === 'message' ? String(fields['role']) : (stringOf(item.type) ?? 'item')
      const mapped = messageOfItem(item)
      if ('leftOut' in mapped) {
        notes.leftOut(kind, mapped.leftOut)
        continue
      }
      const last = listed.at(-1)
      const joined = last && joinReplies(last.said, mapped.message)
      if (joined) listed.splice(-1, 1, { ...last, said: joined })
      else listed.push({ line, kind, said: mapped.message })
    }
    return planOf(
      'responses',
      draft,
      listActions(configurationOf(draft.owner, notes), listed, { notes, shelf }),
    )
  },
}

const configurationOf = (owner: Fields, notes: ImportNotes): Configuration => {
  const { instructions, tools, model, previous_response_id: previous } = owner
  if (stringOf(previous) !== undefined)
    notes.note(`the items before come from another response, which is not in the file: ${String(previous)}`)
  const parameters = parametersOf(owner, owned)
  return {
    ...(stringOf(instructions) !== undefined && { system: String(instructions) }),
    ...(Array.isArray(tools) && tools.length > 0 && { tools: tools.filter(isFields).map(toolOf) }),
    ...(stringOf(model) !== undefined && { model: String(model) }),
    ...(parameters && { parameters }),
  }
}
