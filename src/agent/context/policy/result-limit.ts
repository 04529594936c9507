import { type Block, isBlock, isWellShaped, type KnownBlock, textBlock } from '../../../events/blocks.ts'
import type { NewMessage } from '../../../commands/command.ts'
import { isResultType } from '../../../projections/render/renderer.ts'
import { beginningOf, endOf } from './cut-text.ts'
import { estimate } from '../tokens/estimate.ts'

/** Name of the tool that reads the omitted part of a result. */
export const readerName = 'read_result'

export interface ResultLimit {
  /**
   * Maximum size of a result that is shown in full, in UTF-8 bytes, including the JSON around its texts. A picture or document counts
   * as text with the same number of tokens.
   */
  readonly bytes: number
  /**
   * Availability of the omitted part, as stated in the note to the model: readable with `read_result`, only recorded in the log, or
   * lost.
   */
  readonly rest: 'readable' | 'recorded' | 'lost'
}

/** Assumed bytes of text per token. */
const textBytes = 3.3

/** Returns the size of a result, in bytes as counted against the limit. */
export const resultBytes = ({ content = '' }: KnownBlock<'tool_result'>): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : bytesOf(resultBlocksIn(content))

const bytesOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + blockBytes(block), 0)

/**
 * Returns a block's size in bytes, including its JSON, because many small blocks add up. A picture or document counts as text with the
 * same number of tokens.
 */
const blockBytes = (block: Block): number => {
  if (isBlock(block, 'text')) return Buffer.byteLength(block.text) + jsonBytes({ ...block, text: '' })
  if (isBlock(block, 'image') || isBlock(block, 'document'))
    return Math.ceil(textBytes * estimate([block])) + jsonBytes({ ...block, source: {} })
  return jsonBytes(block)
}

/** Returns the size of a block as JSON, in bytes, including a comma after it. */
const jsonBytes = (block: object): number => Buffer.byteLength(JSON.stringify(block)) + 1

/** Returns the blocks of a result that are shown to the model. Block numbers are indices into this list. */
export const resultBlocksIn = (content: readonly unknown[]): readonly Block[] =>
  content.filter((block) => isWellShaped(block)).filter(({ type }) => isResultType(type))

/**
 * Shortens each result that exceeds both the limit and the size of the note, to its beginning and end. Returns undefined if no result
 * is too large.
 */
export const limitResults = (content: readonly Block[], limit: ResultLimit): readonly Block[] | undefined => {
  const isLarge = (block: Block): block is KnownBlock<'tool_result'> =>
    isBlock(block, 'tool_result') && resultBytes(block) > Math.max(limit.bytes, noteBytes(block.tool_use_id))
  return content.some(isLarge)
    ? content.map((block) => (isLarge(block) ? cutResult(block, limit) : block))
    : undefined
}

/** Returns `readable` if the tools include the one that reads omitted parts of results, else `recorded`. */
export const restFor = (tools: { readonly [name: string]: unknown }): ResultLimit['rest'] =>
  Object.hasOwn(tools, readerName) ? 'readable' : 'recorded'

/** Builds the message that holds tool results: in full and, if any are too large, also as shortened for the model. */
export const resultMessage = (content: readonly Block[], limit: ResultLimit): NewMessage => {
  const shown = limitResults(content, limit)
  const policy = { of: 'result' as const, used: largestResult(content), allowed: limit.bytes }
  return { role: 'user', content, ...(shown && { shown: { content: shown, policy } }) }
}

/** Maximum total size, in bytes, of a message's results if they cannot be recorded in full. */
const mostBytes = 4 * 1024 * 1024

/** Builds the message for tool results that are too large to record: it holds only the shortened content that the model is shown. */
export const recordableMessage = (content: readonly Block[], maxResult: number): NewMessage => {
  const bytes = Math.min(maxResult, Math.floor(mostBytes / content.length))
  return { role: 'user', content: limitResults(content, { bytes, rest: 'lost' }) ?? content }
}

const largestResult = (content: readonly Block[]): number =>
  content.reduce(
    (most, block) => (isBlock(block, 'tool_result') ? Math.max(most, resultBytes(block)) : most),
    0,
  )

const cutResult = (block: KnownBlock<'tool_result'>, limit: ResultLimit): Block => {
  const { content = '', tool_use_id: id } = block
  if (typeof content === 'string') {
    const { head, note, tail } = cutText(content, id, limit)
    return { ...block, content: [head, note, tail].filter((part) => part !== '').join('\n') }
  }
  return { ...block, content: cutBlocks(resultBlocksIn(content), id, limit) }
}

interface Cut {
  readonly head: string
  readonly note: string
  readonly tail: string
}

/** Returns an upper bound, in bytes, for the note about the omitted part; only the numbers and the call's id vary. */
const noteBytes = (id: string): number => 200 + Buffer.byteLength(id)

const cutText = (text: string, id: string, { bytes, rest }: ResultLimit): Cut => {
  const half = Math.floor((bytes - noteBytes(id)) / 2)
  const [head, tail] = [beginningOf(text, half), endOf(text, half)]
  const to = text.length - tail.length
  return {
    head,
    tail,
    note: `[Characters ${head.length} to ${to} of ${text.length} are left out. ${howToRead(rest, id, head.length)}]`,
  }
}

const howToRead = (rest: ResultLimit['rest'], id: string, from: number): string => {
  if (rest === 'readable')
    return `${readerName} shows them: {"call_id": ${JSON.stringify(id)}, "from": ${from}}`
  return rest === 'recorded'
    ? 'They are recorded, but no tool shows them: ask for less at once.'
    : 'The result was too large to be recorded: ask for less at once.'
}

/**
 * Joins the texts of a result and cuts them to the limit. Other blocks are kept if they fit; otherwise, only their types and block
 * numbers are shown.
 */
const cutBlocks = (blocks: readonly Block[], id: string, limit: ResultLimit): readonly Block[] => {
  const text = textIn(blocks)
  const others = blocks.flatMap((block, index) => (isBlock(block, 'text') ? [] : [{ block, index }]))
  const around = blockBytes(textBlock(''))
  const half = Math.max(0, Math.floor((limit.bytes - noteBytes(id) - around) / 2))
  let room = half
  const kept: Block[] = []
  const left: string[] = []
  for (const { block, index } of others) {
    const size = blockBytes(block)
    if (size <= room) {
      room -= size
      kept.push(block)
    } else left.push(`${block.type} (block ${index})`)
  }
  const missing =
    left.length > 0
      ? beginningOf(`[Too large to be shown: ${left.join(', ')}]`, Math.min(noteBytes(id), half))
      : ''
  const bytes = limit.bytes - bytesOf(kept) - around - Buffer.byteLength(missing)
  const isLong = Buffer.byteLength(text) >= Math.max(1, bytes)
  const { head, note, tail } = isLong
    ? cutText(text, id, { ...limit, bytes })
    : { head: text, note: '', tail: '' }
  const shown = [head, note, tail, missing].filter((part) => part !== '').join('\n')
  return [...(shown === '' ? [] : [textBlock(shown)]), ...kept]
}

/** Returns the text of all text blocks, joined by newlines. */
export const textIn = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (isBlock(block, 'text') ? [block.text] : [])).join('\n')
