import type { Configuration, Role } from '../../events/events.ts'
import type { DocumentFormat } from './format.ts'
import type { ConversationPlan } from './plan.ts'
import type { Shelf } from './shelf.ts'
import {
  blocksOf,
  type ConversationDraft,
  leaveOutFields,
  listActions,
  parametersOf,
  planOf,
} from './messages.ts'
import { type ImportNotes, stringOf } from './source.ts'

const known = new Set(['role', 'content'])
const owned = [
  'id',
  'session_id',
  'conversation_id',
  'messages',
  'system',
  'tools',
  'model',
  'repairs',
  'awaits',
]

/** Format for requests of the Messages API. It accepts all messages that no other format recognises. */
export const anthropic: DocumentFormat = {
  name: 'anthropic',
  recognises: () => true,
  parse: (draft, notes, shelf) => parseAnthropic(draft, notes, shelf),
}

/** Parses a request of the Messages API, or only its list of messages. Blocks are kept unchanged. */
const parseAnthropic = (
  draft: ConversationDraft,
  notes: ImportNotes,
  shelf: Shelf,
): readonly ConversationPlan[] => {
  const { owner, messages } = draft
  const said = messages.map(({ line, fields }) => {
    leaveOutFields(fields, known, notes)
    const { role, content } = fields
    return { line, kind: String(role), said: { role: role as Role, content: blocksOf(content) } }
  })
  const { system, tools, model } = owner as Configuration
  const parameters = parametersOf(owner, owned)
  const configuration = {
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    ...(stringOf(model) !== undefined && { model: String(model) }),
    ...(parameters && { parameters }),
  }
  return planOf('anthropic', draft, listActions(configuration, said, { notes, shelf }))
}
