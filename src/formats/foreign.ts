import { aStore } from './errors.ts'
import { type Fields, isFields } from '../events/json.ts'
import { hasAll } from './format.ts'

const rollout = new Set<unknown>(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted'])

/** The known but unsupported format of a line. */
export const foreignLine = (fields: Fields): string | undefined => {
  const { type } = fields
  if (rollout.has(type) && hasAll(fields, 'payload')) return 'a Codex rollout'
  if (hasAll(fields, 'record_type') || (hasAll(fields, 'id', 'instructions') && hasAll(fields, 'git')))
    return 'a Codex rollout'
  if (hasAll(fields, 'sessionId', 'projectHash')) return 'a Gemini CLI session'
  if (hasAll(fields, 'v', 'agent', 'cli_version', 'type')) return 'an Entire transcript'
  if (hasAll(fields, 'display', 'pastedContents')) return 'Claude Code’s list of prompts'
  if (hasAll(fields, 'session_id', 'type') && (type === 'system' || hasAll(fields, 'parent_tool_use_id')))
    return 'Claude Code’s stream-json output'
  if (hasAll(fields, 'working_dir', 'message_count')) return 'a Goose session'
  if (hasAll(fields, 'role', 'message') && type === undefined) return 'a Cursor transcript'
  if (typeof type === 'string' && type.startsWith('session.') && hasAll(fields, 'data'))
    return 'a Copilot CLI session'
  return hasAll(fields, 'messages') ? foreignDocument(fields) : undefined
}

// The application id in the header of an SQLite file.
const storeMark = 'PALI'

/** The known but unsupported format of a text that is not JSON. */
export const foreignText = (text: string): string | undefined =>
  /^\s*# aider chat started at/.test(text)
    ? 'an aider chat'
    : text.startsWith('SQLite format 3')
      ? text.slice(0, 100).includes(storeMark)
        ? aStore
        : 'a SQLite database'
      : undefined

/** The known but unsupported format of a document. */
export const foreignDocument = (document: unknown): string | undefined => {
  const list = (Array.isArray(document) ? document : [document]).filter(isFields)
  const some = (...names: readonly string[]): boolean => list.some((fields) => hasAll(fields, ...names))
  if (some('sessionId', 'projectHash') || some('sessionId', 'messageId', 'type', 'message'))
    return 'a Gemini CLI session'
  if (some('role', 'parts') || some('contents')) return 'a Gemini conversation'
  if (some('mapping', 'current_node')) return 'a ChatGPT export'
  if (some('chat_messages')) return 'a Claude.ai export'
  if (
    list.some(
      ({ type, say, ask }) => (type === 'say' && say !== undefined) || (type === 'ask' && ask !== undefined),
    )
  )
    return 'what Cline or Roo Code shows its user (the conversation is in api_conversation_history.json next to it)'
  if (
    list.some(
      ({ messages }) =>
        Array.isArray(messages) && messages.some((each) => isFields(each) && hasAll(each, 'info', 'parts')),
    )
  )
    return 'an OpenCode session'
  if (some('requests', 'responderUsername')) return 'a Copilot chat'
  if (list.some(({ conversations }) => Array.isArray(conversations))) return 'a ShareGPT list'
  return undefined
}
