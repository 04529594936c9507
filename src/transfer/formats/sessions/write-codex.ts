import { type AnyBlock, isBlock } from '../../../events/blocks.ts'
import { isFields } from '../../../events/json.ts'
import { absentPart, type BlockPart, partOf, resultParts } from './block-parts.ts'
import type { ViewMessage } from './session-view.ts'
import type { Lose } from './session-loss.ts'
import { linesWriter, type SessionTarget, type SessionWriter, withFields } from './session-writer.ts'

/** Size in bytes to which Codex cuts the output of a tool when it reads a session, unless its model allows more. */
const longestOutput = 12_000

/** Type of the blocks that hold items of the Responses API as they are. */
const ownBlock = 'responses_item'

/** Writes rollouts of Codex. */
export const codexWriter: SessionWriter = {
  ...linesWriter(
    ({ time, id }) =>
      `sessions/${time.slice(0, 10).replaceAll('-', '/')}/rollout-${time.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`,
    entriesOf,
    {
      lineOf: (line, index, { id, cwd }) =>
        index > 0
          ? line
          : withFields(line, (entry) => ({ ...entry, payload: { ...Object(entry['payload']), id, cwd } })),
      // After a compaction, for example, Codex repeats the environment unless a turn_context follows.
      copiesRest: true,
    },
  ),
  ownBlock,
}

function* entriesOf(
  messages: readonly ViewMessage[],
  { id, cwd, time }: SessionTarget,
  lose: Lose,
): Generator<object> {
  const meta = { id, timestamp: time, cwd, originator: 'palimpsest', cli_version: '0.0.0', source: 'cli' }
  yield { timestamp: time, type: 'session_meta', payload: meta }
  for (const message of messages) {
    const timestamp = message.time
    for (const payload of itemsOf(message, lose)) yield { timestamp, type: 'response_item', payload }
    const shown = shownText(message)
    // What the client shows when it opens the session; the model does not see it.
    if (shown !== undefined) yield { timestamp, type: 'event_msg', payload: shown }
  }
}

/** Yields the items of the Responses API for a message. */
function* itemsOf({ role, blocks }: ViewMessage, lose: Lose): Generator<object> {
  let content: object[] = []
  const partAt =
    (position: number) =>
    (part: BlockPart): object => {
      const type = role === 'assistant' ? 'output_text' : 'input_text'
      if (part.kind === 'text') return { type, text: part.text }
      if (part.kind === 'image')
        return { type: 'input_image', image_url: `data:${part.mediaType};base64,${part.data}` }
      if (part.kind === 'image-url') return { type: 'input_image', image_url: part.url }
      const { detail, text } = absentPart(part.type, 'Codex')
      lose('media', position, detail)
      return { type, text }
    }
  function* spoken(): Generator<object> {
    if (content.length > 0) yield { type: 'message', role: role === 'system' ? 'developer' : role, content }
    content = []
  }
  for (const { block, position } of blocks) {
    if (isBlock(block, 'thinking') || isBlock(block, 'redacted_thinking'))
      lose('thinking', position, 'thinking: it is of another API')
    else if (isBlock(block, 'tool_use')) {
      yield* spoken()
      const { id: call_id, name, input } = block
      yield { type: 'function_call', name, arguments: JSON.stringify(input), call_id }
    } else if (isBlock(block, 'tool_result')) {
      yield* spoken()
      const output = outputOf(resultParts(block.content), partAt(position))
      if (Buffer.byteLength(typeof output === 'string' ? output : textIn(output)) > longestOutput)
        lose(
          'output-cut',
          position,
          `Codex cuts tool outputs to about ${longestOutput.toLocaleString('en')} bytes`,
        )
      yield { type: 'function_call_output', call_id: block.tool_use_id, output }
    } else if ((block as AnyBlock).type === ownBlock && isFields(block['item'])) {
      yield* spoken()
      yield block['item']
    } else content.push(partAt(position)(partOf(block)))
  }
  yield* spoken()
}

/** Returns the output of a tool: a text, or a list if it has images. */
const outputOf = (
  parts: readonly BlockPart[],
  itemOf: (part: BlockPart) => object,
): string | readonly object[] => {
  const items = parts.map(itemOf)
  return parts.some(({ kind }) => kind === 'image' || kind === 'image-url') ? items : textIn(items)
}

const textIn = (items: readonly object[]): string =>
  items.map((item) => ('text' in item ? String(item.text) : '')).join('\n')

const shownText = ({ role, blocks }: ViewMessage): object | undefined => {
  const message = blocks.flatMap(({ block }) => (isBlock(block, 'text') ? [block.text] : [])).join('\n\n')
  if (message === '' || role === 'system') return undefined
  return role === 'user' ? { type: 'user_message', message } : { type: 'agent_message', message }
}
