import { type Block, isBlock } from '../../../events/blocks.ts'
import { type Fields, isFields } from '../../../events/json.ts'
import { asUserMessage } from './as-user-message.ts'
import { absentPart, type BlockPart, partOf, resultParts } from './block-parts.ts'
import { stringOf } from '../source.ts'
import type { ViewMessage } from './session-view.ts'
import type { Lose } from './session-loss.ts'
import {
  linesWriter,
  type SessionTarget,
  fieldsIn,
  type SessionWriter,
  withFields,
} from './session-writer.ts'

/** Writes sessions of pi. */
export const piWriter: SessionWriter = linesWriter(
  ({ cwd, time, id }) =>
    `sessions/--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--/${time.replaceAll(/[:.]/g, '-')}_${id}.jsonl`,
  entriesOf,
  {
    // pi refuses a session whose folder does not exist.
    lineOf: (line, index, { id, cwd }) =>
      index > 0 ? line : withFields(line, (entry) => ({ ...entry, id, cwd })),
    idsRead,
  },
)

/** pi does not send replies that failed or were stopped, and answers calls without a result in words of its own. */
function idsRead(lines: readonly string[]): ReadonlySet<string> {
  const entries = lines.map(fieldsIn)
  const messages = entries.map(({ message }) => (isFields(message) ? message : {}))
  const answered = new Set(messages.map(({ toolCallId }) => toolCallId))
  const isSent = ({ stopReason, content }: Fields): boolean =>
    stopReason !== 'aborted' &&
    stopReason !== 'error' &&
    !(
      Array.isArray(content) &&
      content.some((part) => isFields(part) && part['type'] === 'toolCall' && !answered.has(part['id']))
    )
  // In files of the early version, entries have no ids.
  const ids = entries.map(({ id }, index) => stringOf(id) ?? `line-${index + 1}`)
  return new Set(ids.filter((_, index) => isSent(messages[index] ?? {})))
}

function* entriesOf(
  messages: readonly ViewMessage[],
  { id, cwd, time: timestamp }: SessionTarget,
  lose: Lose,
): Generator<object> {
  yield { type: 'session', version: 3, id, timestamp, cwd }
  const tools = new Map<string, string>()
  let parentId: string | null = null
  let count = 0
  for (const given of messages)
    for (const message of messagesOf(asUserMessage(given, lose), tools, lose)) {
      const entryId = (++count).toString(16).padStart(8, '0')
      const time = Date.parse(given.time)
      yield {
        type: 'message',
        id: entryId,
        parentId,
        timestamp: given.time,
        message: { ...message, timestamp: time },
      }
      parentId = entryId
    }
}

/** Yields the messages of pi for a message: the model's, or each tool result as one, and the rest of the user's. */
function* messagesOf(
  { role, blocks, model = 'unknown' }: ReturnType<typeof asUserMessage>,
  tools: Map<string, string>,
  lose: Lose,
): Generator<object> {
  const partAt =
    (position: number) =>
    (part: BlockPart): object => {
      if (part.kind === 'text') return { type: 'text', text: part.text }
      if (part.kind === 'image') return { type: 'image', data: part.data, mimeType: part.mediaType }
      const { detail, text } = absentPart(part.kind === 'other' ? part.type : part.kind, 'pi')
      lose('media', position, detail)
      return { type: 'text', text }
    }
  if (role === 'assistant') {
    for (const { block } of blocks) if (isBlock(block, 'tool_use')) tools.set(block.id, block.name)
    const content = blocks.flatMap(({ block }) => replyPart(block) ?? [])
    const isCall = blocks.some(({ block }) => block.type === 'tool_use')
    if (content.length > 0)
      yield { role, content, ...replyFields, model, stopReason: isCall ? 'toolUse' : 'stop' }
    return
  }
  const rest: object[] = []
  for (const { block, position } of blocks) {
    if (isBlock(block, 'tool_result'))
      yield {
        role: 'toolResult',
        toolCallId: block.tool_use_id,
        toolName: tools.get(block.tool_use_id) ?? 'unknown',
        content: resultParts(block.content).map(partAt(position)),
        isError: block.is_error === true,
      }
    else rest.push(partAt(position)(partOf(block)))
  }
  if (rest.length > 0) yield { role: 'user', content: rest }
}

const replyPart = (block: Block): object | undefined => {
  if (isBlock(block, 'text')) return { type: 'text', text: block.text }
  if (isBlock(block, 'thinking'))
    return { type: 'thinking', thinking: block.thinking, thinkingSignature: block.signature }
  if (isBlock(block, 'redacted_thinking')) return { ...redacted, thinkingSignature: block.data }
  if (isBlock(block, 'tool_use'))
    return { type: 'toolCall', id: block.id, name: block.name, arguments: block.input }
  return undefined
}

const redacted = { type: 'thinking', thinking: '[Reasoning redacted]', redacted: true }

const replyFields = {
  api: 'anthropic-messages',
  provider: 'anthropic',
  usage: {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
}
