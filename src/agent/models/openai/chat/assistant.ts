import { type Block, isBlock } from '../../../../events/blocks.ts'
import { isFields } from '../../../../events/json.ts'
import {
  isCompaction,
  isServerResult,
  isServerUse,
  isThinking,
} from '../../../../projections/render/renderer.ts'
import { callId, toolName } from './names.ts'
import { partsOf, textOf } from './parts.ts'
import { reasoningIn } from './reasoning.ts'
import type { ChatCall, ChatForm, ChatMessage, ChatReport } from './types.ts'

/**
 * Translates an assistant message; returns no messages if the API cannot represent any of the content. A compaction is sent as a user
 * message.
 */
export const assistantMessages = (
  content: readonly Block[],
  form: ChatForm,
  report: ChatReport,
): readonly ChatMessage[] => {
  for (const block of content) reportDropped(block, report)
  const summaries = content.filter(isCompaction).flatMap((block) => partsOf(block, form, report))
  const calls = content.filter((block) => isBlock(block, 'tool_use')).map((block) => callOf(block, report))
  const texts = content.filter((block) => isBlock(block, 'text'))
  const said = texts.some(({ citations }) => Array.isArray(citations))
    ? texts.map(({ text }) => text).join('')
    : textOf(texts)
  const [firstCall, lastText] = [
    content.findIndex(({ type }) => type === 'tool_use'),
    content.findLastIndex(({ type }) => type === 'text'),
  ]
  if (firstCall >= 0 && firstCall < lastText) report('calls-moved', 'a text after a call', content[lastText])
  const before: readonly ChatMessage[] =
    summaries.length > 0 ? [{ role: 'user', content: textOf(summaries) }] : []
  if (calls.length === 0 && said === '') {
    if (before.length === 0) report('message-dropped', 'nothing of it has a place', content[0])
    return before
  }
  const message: ChatMessage = {
    role: 'assistant',
    content: said === '' ? null : said,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...reasoningIn(content, form),
  }
  return [...before, message]
}

const reportDropped = (block: Block, report: ChatReport): void => {
  if ('cache_control' in block && block.type !== 'compaction')
    report('cache-control-dropped', 'the API caches by itself', block)
  if (isThinking(block)) report('thinking-dropped', 'another API signed it', block)
  else if (isServerUse(block) || isServerResult(block))
    report('server-tool-dropped', `${block.type} of another API`, block)
  if (isBlock(block, 'text') && block.citations) report('field-dropped', 'citations', block)
}

const callOf = (block: Block & { readonly type: 'tool_use' }, report: ChatReport): ChatCall => {
  const id = callId(block.id)
  const name = toolName(block.name)
  if (id !== block.id) report('id-replaced', `tool_use ${block.id} is sent as ${id}`, block)
  if (name !== block.name) report('name-replaced', `${block.name} is sent as ${name}`, block)
  const { input } = block
  return {
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(isFields(input) ? input : { input }) },
  }
}
