import {
  type Block,
  isBlock,
  isWellShaped,
  type KnownBlock,
  textBlock,
  unknownBlock,
} from '../../events/blocks.ts'
import { isCompaction } from '../../projections/render/renderer.ts'

/** Options for the content shown to a model that summarizes. */
export interface SummaryContentOptions {
  /** True to show pictures and documents; otherwise each is replaced with a note. */
  readonly images: boolean
  /** Length in characters above which texts are cut in the middle. Default: no limit. */
  readonly longest?: number | undefined
}

/**
 * Returns the blocks as they are shown to the model that summarizes. A provider's compaction block becomes text, because such a block
 * is allowed only at the beginning.
 */
export const blocksToSummarize = (
  blocks: readonly Block[],
  showing: SummaryContentOptions,
): readonly Block[] => blocks.map((block) => shown(block, showing))

const shown = (block: Block, showing: SummaryContentOptions): Block => {
  const { images, longest = Infinity } = showing
  const { content } = block
  if (isCompaction(block))
    return textBlock(cut(typeof content === 'string' ? content : JSON.stringify(content), longest))
  if (!images && (isBlock(block, 'image') || isBlock(block, 'document'))) return noteOf(block)
  if (isBlock(block, 'text')) return { ...block, text: cut(block.text, longest) }
  if (isBlock(block, 'tool_use')) return { ...block, input: cutInside(block.input, longest) }
  if (isBlock(block, 'document') && block.source.type === 'text')
    return unknownBlock({ ...block, source: cutInside(block.source, longest) })
  if (block.type !== 'tool_result' && block.type !== 'search_result') return block
  if (typeof content === 'string') return { ...block, content: cut(content, longest) }
  return Array.isArray(content)
    ? { ...block, content: blocksToSummarize((content as readonly unknown[]).filter(isWellShaped), showing) }
    : block
}

const noteOf = ({ type, source, title }: KnownBlock<'image' | 'document'>): Block => {
  const { media_type, url, file_id, data } = source
  const size = typeof data === 'string' ? `${data.length} characters of ${source.type}` : undefined
  const facts = [title, media_type, url, file_id, size].filter((fact) => typeof fact === 'string')
  return textBlock(`[Not shown: ${[type, ...facts].join(', ')}]`)
}

const cut = (text: string, longest: number): string => {
  if (text.length <= longest) return text
  const half = Math.floor(longest / 2)
  const note = `\n[… ${text.length - 2 * half} characters are left out here …]\n`
  return text.slice(0, half) + note + text.slice(text.length - half)
}

/** Cuts every text longer than `longest` characters inside a value. */
const cutInside = (value: unknown, longest: number): unknown => {
  if (typeof value === 'string') return cut(value, longest)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner) => cutInside(inner, longest))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutInside(inner, longest)]))
}
