import type { NewMessage } from '../../commands/command.ts'
import { type Block, type AnyBlock, unknownBlock } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { stringOf } from './source.ts'

/** A pi message as the model sees it, or the reason why the model does not see it. */
export type PiMessage = { readonly message: NewMessage } | { readonly leftOut: string }

/** Converts a message in the same way as pi's `convertToLlm`, with the same role and wording. */
export const messageOf = (message: Fields): PiMessage => {
  const { role, content } = message
  switch (role) {
    case 'user':
    case 'custom':
    case 'hookMessage':
      return { message: { role: 'user', content: blocksOf(content) } }
    case 'assistant':
      return { message: { role: 'assistant', content: blocksOf(content), origin: originOf(message) } }
    case 'toolResult':
      return { message: { role: 'user', content: [resultOf(message)] } }
    case 'bashExecution':
      return message['excludeFromContext'] === true
        ? { leftOut: 'a command of the user that is kept from the model' }
        : { message: textMessage(bashText(message)) }
    case 'compactionSummary':
      return { message: compactionMessage(String(message['summary'])) }
    case 'branchSummary':
      return { message: branchMessage(String(message['summary'])) }
    default:
      return { leftOut: 'an unknown role' }
  }
}

const textMessage = (text: string): NewMessage & { readonly content: readonly Block[] } => ({
  role: 'user',
  content: [{ type: 'text', text }],
})

/** Returns the message in which pi shows the summary of a compaction to the model. */
export const compactionMessage = (summary: string): ReturnType<typeof textMessage> =>
  textMessage(
    `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`,
  )

/** Returns the message in which pi tells the model about a branch that the user abandoned. */
export const branchMessage = (summary: string): NewMessage =>
  textMessage(
    `The following is a summary of a branch that this conversation came back from:\n\n<summary>\n${summary}</summary>`,
  )

const bashText = ({ command, output, cancelled, exitCode, truncated, fullOutputPath }: Fields): string =>
  [
    `Ran \`${String(command)}\`\n`,
    stringOf(output) === undefined ? '(no output)' : `\`\`\`\n${String(output)}\n\`\`\``,
    cancelled === true
      ? '\n\n(command cancelled)'
      : typeof exitCode === 'number' && exitCode !== 0
        ? `\n\nCommand exited with code ${exitCode}`
        : '',
    truncated === true && stringOf(fullOutputPath) !== undefined
      ? `\n\n[Output truncated. Full output: ${String(fullOutputPath)}]`
      : '',
  ].join('')

/**
 * Returns the blocks of a message's content. A value that is neither a string nor a list is returned unchanged, to be reported as a bad
 * line.
 */
export const blocksOf = (content: unknown): readonly Block[] => {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content)
    ? content.map((block) => unknownBlock(blockOf(block as AnyBlock)))
    : (content as readonly Block[])
}

const blockOf = (block: AnyBlock): AnyBlock => {
  if (!isFields(block)) return block
  const { type, ...rest } = block
  switch (type) {
    case 'toolCall': {
      const { arguments: input, ...call } = rest
      return { type: 'tool_use', ...call, input: input ?? {} }
    }
    case 'thinking': {
      const { thinkingSignature, ...thinking } = rest
      return {
        type,
        ...thinking,
        ...(stringOf(thinkingSignature) !== undefined && { signature: thinkingSignature }),
      }
    }
    case 'image': {
      const { data, mimeType, ...image } = rest
      const source = image['source'] ?? { type: 'base64', media_type: mimeType, data }
      return { type, ...image, source }
    }
    default:
      return block
  }
}

/** Converts a message with the result of a tool to a block. */
export const resultOf = ({ toolCallId, content, isError }: Fields): Block =>
  unknownBlock({
    type: 'tool_result',
    tool_use_id: toolCallId,
    content: blocksOf(content ?? []),
    ...(isError === true && { is_error: true }),
  })

const stopReasons = new Map<unknown, string>([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['toolUse', 'tool_use'],
])

const originOf = ({ model, stopReason, usage }: Fields): NonNullable<NewMessage['origin']> => ({
  ...(typeof model === 'string' && { model }),
  ...(typeof stopReason === 'string' && { stopReason: stopReasons.get(stopReason) ?? stopReason }),
  ...(isFields(usage) && { usage: usageOf(usage) }),
})

/**
 * Renames usage fields as in the Messages API, so that tokens are counted in the same way for all conversations. Other fields, such as
 * the cost, are kept.
 */
const usageOf = ({ input, output, cacheRead, cacheWrite, ...rest }: Fields): Fields => ({
  ...(input !== undefined && { input_tokens: input }),
  ...(output !== undefined && { output_tokens: output }),
  ...(cacheRead !== undefined && { cache_read_input_tokens: cacheRead }),
  ...(cacheWrite !== undefined && { cache_creation_input_tokens: cacheWrite }),
  ...rest,
})
