import type { Block } from '../../events/blocks.ts'
import { isBlock } from '../../events/blocks.ts'
import type { Attributes } from '../telemetry/open-telemetry.ts'
import type { ModelRequest, Reply } from './model.ts'

// Content of requests and replies in the form of OpenTelemetry's GenAI conventions: messages with parts, as JSON.

const partOf = (block: Block): object => {
  if (isBlock(block, 'text')) return { type: 'text', content: block.text }
  if (isBlock(block, 'thinking')) return { type: 'reasoning', content: block.thinking }
  if (isBlock(block, 'tool_use'))
    return { type: 'tool_call', id: block.id, name: block.name, arguments: block.input }
  if (isBlock(block, 'tool_result'))
    return { type: 'tool_call_response', id: block.tool_use_id, response: block.content ?? '' }
  // Pictures and files are left out.
  return { type: block.type }
}

const partsOf = (content: string | readonly Block[]): readonly object[] =>
  typeof content === 'string' ? [{ type: 'text', content }] : content.map(partOf)

/** Returns the content of a request as span attributes. */
export const inputContent = ({ system, messages }: ModelRequest): Attributes => ({
  'gen_ai.system_instructions': system === undefined ? undefined : JSON.stringify(partsOf(system)),
  'gen_ai.input.messages': JSON.stringify(
    messages.map(({ role, content }) => ({ role, parts: partsOf(content) })),
  ),
})

/** Returns the content of a reply as span attributes. */
export const outputContent = ({ content, origin }: Reply): Attributes => ({
  'gen_ai.output.messages': JSON.stringify([
    { role: 'assistant', parts: partsOf(content), finish_reason: origin.stopReason ?? undefined },
  ]),
})
