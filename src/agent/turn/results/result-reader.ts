import { beginningOf } from '../../context/policy/cut-text.ts'
import { readerName, resultBytes, resultBlocksIn, textIn } from '../../context/policy/result-limit.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { type Block, isBlock, type KnownBlock, textBlock } from '../../../events/blocks.ts'
import { contentOf } from '../../../events/events.ts'
import { orThrow } from '../../../result/fallible.ts'
import type { ToolContext, ToolSettings } from '../../tools/settings.ts'

/** Tool that reads omitted parts of results: add it to the `tools` of a turn. */
export interface ResultReader {
  readonly definition: { readonly name: string; readonly [field: string]: unknown }
  readonly run: ToolSettings
}

const definition = {
  name: readerName,
  description:
    'Reads a part of an earlier tool result that was too large to be shown whole. Answers with as many characters as fit, and where the next part begins.',
  input_schema: {
    type: 'object',
    properties: {
      call_id: { type: 'string', description: 'The id of the call, as the note in its result says it.' },
      from: { type: 'integer', minimum: 0, description: 'The first character, counted from 0. Default 0.' },
      length: { type: 'integer', minimum: 1, description: 'How many characters. Default: as many as fit.' },
      block: { type: 'integer', minimum: 0, description: 'The block to read, where the note names one.' },
    },
    required: ['call_id'],
  },
}

/**
 * Creates a tool that reads the parts of a conversation's tool results that `maxResult` omitted, even if the results are now hidden.
 * The tool's own results stay within the limit.
 */
export const resultReader = (chat: Pick<ConversationHandle, 'events' | 'position'>): ResultReader => ({
  definition,
  run: {
    idempotent: true,
    run: async (input, { maxResult }: ToolContext) => {
      const { call_id: id, from = 0, length = Infinity, block } = input as Input
      // A model may omit fields that the schema requires.
      if (typeof id !== 'string' || id === '')
        throw new Error('call_id is missing: give the id of the call that the note in its result names')
      const result = await resultOf(chat, id)
      if (!result) throw new Error(`there is no result of a call ${JSON.stringify(id)} in this conversation`)
      const { content = '' } = result
      const blocks = typeof content === 'string' ? [textBlock(content)] : resultBlocksIn(content)
      const chosen = block === undefined ? undefined : blocks[block]
      if (chosen && !isBlock(chosen, 'text')) return whole(chosen, maxResult)
      const text = chosen ? textIn([chosen]) : textIn(blocks)
      return partOf(text, { from, length, bytes: maxResult })
    },
  },
})

interface Input {
  readonly call_id?: unknown
  readonly from?: number
  readonly length?: number
  readonly block?: number
}

/** Returns a picture or document, which cannot be read in parts. Throws if it is larger than `bytes`. */
const whole = (block: Block, bytes: number): readonly Block[] => {
  const size = resultBytes({ type: 'tool_result', tool_use_id: '', content: [block] })
  if (size > bytes)
    throw new Error(`the ${block.type} is too large to be shown, about ${size} bytes of ${bytes}`)
  return [block]
}

/** Bytes reserved for the first line of the answer, which states the range of characters. */
const headBytes = 100

const partOf = (
  text: string,
  { from, length, bytes }: { readonly from: number; readonly length: number; readonly bytes: number },
): string => {
  const wanted = text.slice(from, Math.min(text.length, from + length))
  const part = beginningOf(wanted, Math.max(1, bytes - headBytes)) || wanted.slice(0, 2)
  const to = Math.min(text.length, from + part.length)
  const next = to < text.length ? `, the next part from ${to}` : ''
  return `[Characters ${from} to ${to} of ${text.length}${next}]\n${part}`
}

/** Number of events in the first page, searched from the end. Each further page is twice as large. */
const firstPage = 256

/** Returns the newest result of a call; undefined if the conversation contains no such result. */
const resultOf = async (
  chat: Pick<ConversationHandle, 'events' | 'position'>,
  id: string,
): Promise<KnownBlock<'tool_result'> | undefined> => {
  const last = await orThrow(chat.position())
  for (let to = last, size = firstPage; to >= 0; to -= size, size *= 2) {
    let found: KnownBlock<'tool_result'> | undefined
    for await (const event of chat.events({ from: Math.max(0, to - size + 1), to })) {
      if (event.type !== 'MessageAppended') continue
      for (const { content } of contentOf(event))
        for (const block of content)
          if (isBlock(block, 'tool_result') && block.tool_use_id === id) found = block
    }
    if (found) return found
  }
  return undefined
}
