import { aStore } from './errors.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { hasAll } from './format.ts'

/** A program's format that is recognised but not supported. */
interface Foreign {
  /** Description of the format's files, such as "a Codex rollout". */
  readonly name: string
  /**
   * Reports whether an object has this format. The object is a line, a document, an element of a list, or a message in any of these.
   */
  readonly shows: (fields: Fields) => boolean
  /**
   * True if a supported line format would accept such an object as well. For this reason, the format is tried before the supported
   * ones.
   */
  readonly isAlike?: true
}

const kimiMarks = new Set<unknown>(['_checkpoint', '_usage', '_system_prompt'])

const isText = (value: unknown): value is string => typeof value === 'string'
const beginsWith = (value: unknown, beginning: string): boolean =>
  isText(value) && value.startsWith(beginning)
const objectsIn = (list: unknown): readonly Fields[] => (Array.isArray(list) ? list.filter(isFields) : [])
const areLists = (...values: readonly unknown[]): boolean => values.every(Array.isArray)

/** Reports whether a line is a message of a Factory Droid session. Messages of pi look the same but contain a time. */
const isDroidMessage = ({ type, id, message }: Fields): boolean =>
  type === 'message' &&
  isText(id) &&
  isFields(message) &&
  isText(message['role']) &&
  !hasAll(message, 'timestamp')

/** Unsupported formats in the order in which they are tried: more specific ones first. */
const foreign: readonly Foreign[] = [
  {
    name: 'a Codex rollout of before September 2025',
    shows: (fields) => hasAll(fields, 'record_type') || hasAll(fields, 'id', 'instructions', 'git'),
  },
  {
    name: 'the output of codex exec',
    shows: ({ type, thread_id, item }) =>
      (type === 'thread.started' && isText(thread_id)) || (beginsWith(type, 'item.') && isFields(item)),
  },
  {
    name: 'Gemini CLI’s list of prompts',
    isAlike: true,
    shows: (fields) => hasAll(fields, 'sessionId', 'messageId', 'type') && isText(fields['message']),
  },
  {
    name: 'a Qwen Code session',
    isAlike: true,
    shows: ({ sessionId, uuid, message }) =>
      isText(sessionId) && isText(uuid) && isFields(message) && Array.isArray(message['parts']),
  },
  {
    name: 'a Factory Droid session',
    isAlike: true,
    shows: (fields) =>
      (fields['type'] === 'session_start' && hasAll(fields, 'id')) ||
      (fields['type'] === 'compaction_state' && hasAll(fields, 'summaryText')) ||
      isDroidMessage(fields),
  },
  { name: 'an Entire transcript', shows: (fields) => hasAll(fields, 'v', 'agent', 'cli_version', 'type') },
  { name: 'Claude Code’s list of prompts', shows: (fields) => hasAll(fields, 'display', 'pastedContents') },
  {
    name: 'Claude Code’s stream-json output',
    shows: (fields) =>
      hasAll(fields, 'session_id', 'type') &&
      (fields['type'] === 'system' || hasAll(fields, 'parent_tool_use_id')),
  },
  { name: 'a Goose session', shows: (fields) => hasAll(fields, 'working_dir', 'message_count') },
  {
    name: 'a Cursor transcript',
    shows: ({ role, message, type, content }) =>
      isText(role) && isFields(message) && type === undefined && content === undefined,
  },
  { name: 'a Cursor composer', shows: (fields) => hasAll(fields, 'composerId', 'conversationMap') },
  {
    name: 'a Copilot chat',
    shows: ({ requests, responderUsername, kind, v, k }) =>
      (requests !== undefined && responderUsername !== undefined) ||
      (typeof kind === 'number' && (Array.isArray(k) || (isFields(v) && Array.isArray(v['requests'])))),
  },
  { name: 'a ChatGPT export', shows: (fields) => hasAll(fields, 'mapping', 'current_node') },
  { name: 'a Claude.ai export', shows: (fields) => hasAll(fields, 'chat_messages') },
  {
    name: 'what Cline or Roo Code shows its user (the conversation is in api_conversation_history.json next to it)',
    shows: ({ type, say, ask }) =>
      (type === 'say' && say !== undefined) || (type === 'ask' && ask !== undefined),
  },
  {
    name: 'part of an OpenCode session (export the whole session with opencode export)',
    shows: ({ id, sessionID }) => isText(sessionID) && (beginsWith(id, 'msg_') || beginsWith(id, 'prt_')),
  },
  { name: 'a SWE-agent trajectory', shows: ({ trajectory, history }) => areLists(trajectory, history) },
  { name: 'the results of tau2-bench', shows: ({ simulations, tasks }) => areLists(simulations, tasks) },
  {
    name: 'an OpenHands session',
    shows: ({ source, action, args, observation, content, kind }) =>
      isText(source) &&
      ((isText(action) && args !== undefined) ||
        (isText(observation) && content !== undefined) ||
        (isText(kind) && kind.endsWith('Event'))),
  },
  {
    name: 'a LangGraph state',
    shows: ({ values }) => isFields(values) && Array.isArray(values['messages']),
  },
  {
    name: 'a list of LangChain messages',
    shows: ({ lc, type, role, kwargs, data, content }) =>
      (lc === 1 && isFields(kwargs)) ||
      ((type === 'human' || type === 'ai') &&
        role === undefined &&
        (isText(content) || Array.isArray(content) || (isFields(data) && hasAll(data, 'content')))),
  },
  { name: 'a Letta agent', shows: ({ agents, blocks }) => areLists(agents, blocks) },
  {
    name: 'an Amp thread',
    shows: ({ v, messages }) =>
      typeof v === 'number' && objectsIn(messages).some((message) => hasAll(message, 'role', 'messageId')),
  },
  { name: 'the context of a Kimi session', shows: (fields) => kimiMarks.has(fields['role']) },
  { name: 'a ShareGPT list', shows: (fields) => Array.isArray(fields['conversations']) },
]

const alike = foreign.filter(({ isAlike }) => isAlike)

/**
 * Returns a description of the unsupported format of a line that a supported line format would accept as well; undefined if the line
 * has no such format.
 */
export const alikeIn = (fields: Fields): string | undefined => alike.find(({ shows }) => shows(fields))?.name

/** Returns a description of the unsupported format of a line or a document; undefined if it has no known unsupported format. */
export const foreignIn = (value: unknown): string | undefined => {
  const owners = objectsIn(Array.isArray(value) ? value : [value])
  const all = [...owners, ...owners.flatMap(({ messages }) => objectsIn(messages))]
  return foreign.find(({ shows }) => all.some(shows))?.name
}

// The application id in the header of an SQLite file.
const storeMark = 'PALI'

/** Returns a description of the unsupported format of a text that is not JSON; undefined if it has no known unsupported format. */
export const foreignText = (text: string): string | undefined =>
  /^\s*# aider chat started at/.test(text)
    ? 'an aider chat'
    : text.startsWith('SQLite format 3')
      ? text.slice(0, 100).includes(storeMark)
        ? aStore
        : 'a SQLite database'
      : undefined
