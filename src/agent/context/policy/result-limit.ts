import { type Block, isBlock, isWellShaped, type KnownBlock, textBlock } from '../../../events/blocks.ts'
import type { NewMessage } from '../../../commands/command.ts'
import { isResultType } from '../../../projections/render/renderer.ts'
import { beginningOf, endOf } from './cut-text.ts'
import { estimate } from '../tokens/estimate.ts'

/** The name of the tool that reads what was left out of a result. */
export const readerName = 'read_result'

export interface ResultLimit {
  /**
   * The most bytes of UTF-8 of a result that is shown whole, the JSON around its texts included; pictures and documents count as a text
   * with as many tokens.
   */
  readonly bytes: number
  /** What the model is told about the rest: that the reader reads it, that it is in the log, or that it is lost. */
  readonly rest: 'readable' | 'recorded' | 'lost'
}

/** Bytes per token. */
const textBytes = 3.3

/** The size of a result, in the limit's bytes. */
export const resultBytes = ({ content = '' }: KnownBlock<'tool_result'>): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : bytesOf(shownIn(content))

const bytesOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + blockBytes(block), 0)

/** A text, or what a picture or document is to the model, and the JSON around it: many small blocks are large. */
const blockBytes = (block: Block): number => {
  if (isBlock(block, 'text')) return Buffer.byteLength(block.text) + jsonBytes({ ...block, text: '' })
  if (isBlock(block, 'image') || isBlock(block, 'document'))
    return Math.ceil(textBytes * estimate([block])) + jsonBytes({ ...block, source: {} })
  return jsonBytes(block)
}

/** Bytes of a block with the comma after it. */
const jsonBytes = (block: object): number => Buffer.byteLength(JSON.stringify(block)) + 1

/** The blocks of a result that a model is shown; a block's number is its place among these. */
export const shownIn = (content: readonly unknown[]): readonly Block[] =>
  content.filter((block) => isWellShaped(block)).filter(({ type }) => isResultType(type))

/** The content with only head and tail of the results that are larger than the limit, and than a note; undefined if no result is. */
export const limitResults = (content: readonly Block[], limit: ResultLimit): readonly Block[] | undefined => {
  const isLarge = (block: Block): block is KnownBlock<'tool_result'> =>
    isBlock(block, 'tool_result') && resultBytes(block) > Math.max(limit.bytes, noteBytes(block.tool_use_id))
  return content.some(isLarge)
    ? content.map((block) => (isLarge(block) ? cutResult(block, limit) : block))
    : undefined
}

/** How a model with these tools can get at the rest of a result. */
export const restFor = (tools: { readonly [name: string]: unknown }): ResultLimit['rest'] =>
  Object.hasOwn(tools, readerName) ? 'readable' : 'recorded'

/** The message of results: whole, and with what the model is shown of them if that is less. */
export const resultMessage = (content: readonly Block[], limit: ResultLimit): NewMessage => {
  const shown = limitResults(content, limit)
  const policy = { of: 'result' as const, used: largestResult(content), allowed: limit.bytes }
  return { role: 'user', content, ...(shown && { shown: { content: shown, policy } }) }
}

/** The most bytes of all results of a message together, if they cannot be recorded whole. */
const mostBytes = 4 * 1024 * 1024

/** The message of results that are too large to be recorded: only what the model is shown of them. */
export const recordableMessage = (content: readonly Block[], maxResult: number): NewMessage => {
  const bytes = Math.min(maxResult, Math.floor(mostBytes / content.length))
  return { role: 'user', content: limitResults(content, { bytes, rest: 'lost' }) ?? content }
}

/** The largest result of a message. */
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
  return { ...block, content: cutBlocks(shownIn(content), id, limit) }
}

interface Cut {
  readonly head: string
  readonly note: string
  readonly tail: string
}

/** The most bytes of the note, which names only numbers and the call. */
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

/** Texts as one text, cut; other blocks are kept if they fit, and else named. */
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

/** The texts among blocks, one per line. */
export const textIn = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (isBlock(block, 'text') ? [block.text] : [])).join('\n')
