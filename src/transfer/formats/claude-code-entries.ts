import type { NewMessage } from '../../commands/command.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { stringOf } from './source.ts'

const reasons = new Map<string, string>([
  ['progress', 'activity of a tool or hook; the model does not see it'],
  ['file-history-snapshot', 'a backup of files for the client'],
  ['permission-mode', 'a setting of the client'],
  ['mode', 'a setting of the client'],
  ['last-prompt', 'a copy of the last prompt, for lists'],
  ['cost-state', 'a state of the client'],
  ['tools-used', 'a state of the client'],
  ['atis-latch', 'a state of the client'],
  ['agent-name', 'a name of the session, for lists'],
  ['summary', 'an empty title'],
  ['custom-title', 'an empty title'],
  ['ai-title', 'an empty title'],
  ['attachment', 'an attachment without content'],
  ['system', 'a notice of the client to the user'],
])

/** Returns the reason why an entry of this type is not part of the conversation. */
export const reasonFor = (type: unknown): string =>
  reasons.get(String(type)) ?? 'not a message, and of an unknown kind'

/** Returns the message of a `user` or `assistant` entry as recorded. Its content is not checked and may not match the schema. */
export const messageOf = (role: 'user' | 'assistant', fields: Fields, message: Fields): NewMessage => {
  const id = stringOf(role === 'assistant' ? (message['id'] ?? fields['uuid']) : fields['uuid'])
  return {
    role,
    content: message['content'] as NewMessage['content'],
    ...(id !== undefined && { messageId: id }),
    ...(role === 'assistant' && { origin: originOf(fields, message) }),
  }
}

const originOf = (fields: Fields, message: Fields): NonNullable<NewMessage['origin']> => {
  const { model, stop_reason: stopReason, usage } = message
  const { requestId } = fields
  return {
    ...(typeof model === 'string' && { model }),
    ...((typeof stopReason === 'string' || stopReason === null) && { stopReason }),
    ...(isFields(usage) && { usage }),
    ...(typeof requestId === 'string' && { requestId }),
  }
}
