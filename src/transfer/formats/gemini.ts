import type { Configuration, Role } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import type { DocumentFormat } from './format.ts'
import { blocksOfContent, createCallIds } from './gemini-parts.ts'
import { leaveOutFields, listActions, parametersOf, planOf } from './messages.ts'
import { toolOf } from './openai-blocks.ts'
import { type ImportNotes, stringOf } from './source.ts'

const known = new Set(['role', 'parts'])
const owned = ['id', 'contents', 'history', 'systemInstruction', 'tools', 'model', 'config', 'authType']
const roles = new Map<unknown, Role>([
  ['model', 'assistant'],
  ['function', 'user'],
  ['user', 'user'],
  ['system', 'system'],
])

const isContent = ({ role, parts, type }: Fields): boolean =>
  type === undefined &&
  (role === undefined || roles.has(role)) &&
  Array.isArray(parts) &&
  parts.length > 0 &&
  !parts.some((part) => isFields(part) && typeof part['type'] === 'string')

/** Format for conversations of the Gemini API: a list of contents, a request, or a checkpoint of Gemini CLI. */
export const gemini: DocumentFormat = {
  name: 'gemini',
  recognises: (contents) => contents.some(isContent),
  parse: (draft, notes, shelf) => {
    const ids = createCallIds('call')
    const said = draft.messages.map(({ line, fields }) => {
      leaveOutFields(fields, known, notes)
      const { role = 'user', parts } = fields
      const content = blocksOfContent(parts, ids, notes)
      return { line, kind: String(role), said: { role: roles.get(role) ?? (role as Role), content } }
    })
    const seen = said.filter(({ kind, said: { content } }) => {
      if (content.length === 0) notes.leftOut(`message ${kind}`, 'it is empty')
      return content.length > 0
    })
    const configuration = configurationOf(draft.owner, notes)
    return planOf('gemini', draft, listActions(configuration, seen, { notes, shelf }))
  },
}

const configurationOf = (owner: Fields, notes: ImportNotes): Configuration => {
  const { config, ...rest } = owner
  const all = isFields(config) ? { ...rest, ...config } : owner
  const { systemInstruction: instruction, tools, model, authType } = all
  if (authType !== undefined) notes.leftOut('field authType', 'how the user signed in')
  const parts = isFields(instruction) ? (instruction['parts'] ?? instruction) : instruction
  const system = blocksOfContent(parts, createCallIds('system'), notes)
  const [only] = system
  const declared = (Array.isArray(tools) ? tools : []).filter(isFields).flatMap(declarationsIn)
  const parameters = parametersOf(all, owned)
  return {
    ...(only && { system: system.length === 1 && typeof only['text'] === 'string' ? only['text'] : system }),
    ...(declared.length > 0 && { tools: declared }),
    ...(stringOf(model) !== undefined && { model: String(model) }),
    ...(parameters && { parameters }),
  }
}

const declarationsIn = (tool: Fields): readonly Fields[] => {
  const { functionDeclarations: declarations } = tool
  if (!Array.isArray(declarations)) return [tool]
  return declarations
    .filter(isFields)
    .map(({ parametersJsonSchema: schema, parameters = schema, ...rest }) =>
      toolOf({ ...rest, function: { ...rest, parameters } }),
    )
}
