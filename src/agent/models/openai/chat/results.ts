import { type Block, isWellShaped, type ToolResultBlock } from '../../../../events/blocks.ts'
import { callId } from './names.ts'
import { isMedia, partsOf, textOf, textPart } from './parts.ts'
import type { ChatForm, ChatMessage, ChatPart, ChatReport } from './types.ts'

/** Messages for tool results, in the order of their calls, and the pictures and files that such messages cannot hold. */
export interface Results {
  readonly messages: readonly ChatMessage[]
  readonly media: readonly ChatPart[]
}

/**
 * Translates tool results into messages, in the order of their calls, and collects their pictures and files.
 *
 * @param calls the ids of the calls, in order
 */
export const resultsOf = (
  results: readonly ToolResultBlock[],
  calls: readonly string[],
  { form, report }: { readonly form: ChatForm; readonly report: ChatReport },
): Results => {
  const ordered = results.toSorted(
    (one, other) => calls.indexOf(one.tool_use_id) - calls.indexOf(other.tool_use_id),
  )
  const made = ordered.map((result) => resultOf(result, form, report))
  return { messages: made.map(({ message }) => message), media: made.flatMap(({ media }) => media) }
}

const resultOf = (
  block: ToolResultBlock,
  form: ChatForm,
  report: ChatReport,
): { readonly message: ChatMessage; readonly media: readonly ChatPart[] } => {
  if ('cache_control' in block) report('cache-control-dropped', 'the API caches by itself', block)
  const parts = contentOf(block).flatMap((inner) => partsOf(inner, form, report))
  const found = parts.filter(isMedia)
  const id = callId(block.tool_use_id)
  if (found.length > 0) report('media-moved', `${found.length} of the result of ${id}`, block)
  const said = textOf(parts.map((part) => (isMedia(part) ? textPart('[Shown after the results.]') : part)))
  const media = found.length > 0 ? [textPart(`From the result of ${id}:`), ...found] : []
  return { message: { role: 'tool', tool_call_id: id, content: marked(block, said, report) }, media }
}

const contentOf = ({ content }: ToolResultBlock): readonly Block[] => {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).filter(isWellShaped)
}

/**
 * Returns the text of a tool result, which is never empty. An error is marked in the text, because Chat Completions has no field for
 * it.
 */
const marked = (block: ToolResultBlock, said: string, report: ChatReport): string => {
  if (block.is_error === true) {
    report('shown-as-text', 'that a result is an error', block)
    return said === '' ? 'Error' : `Error: ${said}`
  }
  if (said === '') report('shown-as-text', 'that a result is empty', block)
  return said === '' ? '[no content]' : said
}
