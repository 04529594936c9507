import { createHash } from 'node:crypto'
import { isBlock } from '../../../events/blocks.ts'
import { isFields } from '../../../events/json.ts'
import type { ViewMessage } from './session-view.ts'
import type { Lose } from './session-loss.ts'
import { fieldsIn, linesWriter, type SessionTarget, type SessionWriter } from './session-writer.ts'
import { asUserMessage } from './as-user-message.ts'

// Claude Code finds a session in any folder of `projects` by the name of its file, and follows `parentUuid` from the last line. An
// assistant line needs the id of its message: without it, the client joins lines that it should not.

/** Writes transcripts of Claude Code. */
export const claudeCodeWriter: SessionWriter = linesWriter(
  ({ cwd, id }) => `projects/${cwd.replaceAll(/[^A-Za-z0-9]/g, '-').slice(0, 200)}/${id}.jsonl`,
  entriesOf,
  {
    // Only a key can stand like this in JSON: within a text, its quotes are escaped.
    lineOf: (line, _, { id }) => line.replaceAll(/"sessionId":"[^"]*"/g, `"sessionId":"${id}"`),
    idsRead,
  },
)

/**
 * Claude Code sends messages, summaries, and attachments whose text is recorded. It does not send prompts from its queue and the output
 * of commands as it once did, and it does not clear tool results again.
 */
function idsRead(lines: readonly string[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const line of lines) {
    const entry = fieldsIn(line)
    const { type, subtype, attachment, uuid } = entry
    const isRead =
      type === 'user' ||
      type === 'assistant' ||
      subtype === 'compact_boundary' ||
      [entry, attachment].some((fields) => isFields(fields) && fields['rendered'] !== undefined)
    if (isRead) ids.add(String(uuid))
  }
  return ids
}

function* entriesOf(
  messages: readonly ViewMessage[],
  { id, cwd }: SessionTarget,
  lose: Lose,
): Generator<object> {
  let parentUuid: string | null = null
  for (const [index, message] of messages.entries()) {
    const uuid = uuidOf(`${id} ${index}`)
    const { role, blocks, time, model } = asUserMessage(message, lose)
    for (const { block, position } of blocks)
      if (isBlock(block, 'tool_use') && block.name === 'Task')
        lose('tool-renamed', position, 'Claude Code renames the tool Task to Agent')
    const content = blocks.map(({ block }) => block)
    yield {
      parentUuid,
      isSidechain: false,
      userType: 'external',
      cwd,
      sessionId: id,
      type: role,
      uuid,
      timestamp: time,
      ...(message.role === 'system' && { isMeta: true }),
      message:
        role === 'assistant' ? { ...replyFields(uuid, model, content), role, content } : { role, content },
    }
    parentUuid = uuid
  }
}

const replyFields = (
  uuid: string,
  model = 'unknown',
  content: readonly { readonly type: string }[] = [],
) => ({
  id: `msg_${uuid.replaceAll('-', '').slice(0, 24)}`,
  type: 'message',
  model,
  stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
})

/** Returns a UUID derived from a text, so that making the entries twice gives the same ones. */
const uuidOf = (text: string): string =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
