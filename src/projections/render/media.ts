import { type Block, isBlock, textBlock } from '../../events/blocks.ts'
import { isFields } from '../../events/json.ts'
import { memo } from '../memo.ts'
import { base64In, dataOf, pictureIn, tooLarge } from '../pictures.ts'
import type { RepairKind, Report } from './repairs.ts'

// Checks single images and documents against the rules of the API. media-room.ts limits their number in a request.

/**
 * Maximum number of characters of media in a request. The API accepts 32 MB; the remaining 4 MB are for the rest of the request and are
 * more than a window of a million tokens can hold.
 */
export const maxData = 28_000_000

interface Substitute {
  readonly block: Block | undefined
  readonly kind: RepairKind
  readonly detail: string
}

/** Returns an image or document in a form that the API accepts, or a text in its place; undefined if the block has no content. */
export const cleanMedia = (stored: Block, position: number, report: Report): Block | undefined => {
  const substitute = substituteOf(stored)
  if (!substitute) return stored
  report(substitute.kind, position, substitute.detail)
  return substitute.block
}

const substituteOf = memo((block: Block): Substitute | undefined =>
  isBlock(block, 'image') ? imageSubstitute(block) : documentSubstitute(block),
)

const imageSubstitute = (block: Block): Substitute | undefined => {
  const { source } = block
  // Unknown kinds of sources are left to the API.
  if (!isFields(source) || (source['type'] !== 'base64' && dataOf(source) === undefined)) return undefined
  const given = dataOf(source)
  if (given === undefined) return { block: undefined, kind: 'block-dropped', detail: 'an image without data' }
  const data = base64In(given)
  const shown = data === undefined ? undefined : pictureIn(data)
  if (data === undefined || !shown) return replaced(block, 'it is no picture of a type that models take')
  const problem = tooLarge(shown, data)
  if (problem !== undefined) return replaced(block, problem)
  if (data === source['data'] && shown.mediaType === source['media_type']) return undefined
  return {
    block: { ...block, source: { type: 'base64', media_type: shown.mediaType, data } },
    kind: 'source-corrected',
    detail: `an image is sent as ${shown.mediaType}, in base64 alone`,
  }
}

/** Returns the substitute for a document, which may be a list of texts and images; undefined if the document can be sent unchanged. */
const documentSubstitute = (block: Block): Substitute | undefined => {
  const { source } = block
  if (!isFields(source)) return undefined
  const { data, content } = source
  if (typeof data === 'string' && data.length > maxData)
    return replaced(block, `it has ${data.length} characters, and a request has room for ${maxData}`)
  if (!Array.isArray(content)) return undefined
  const parts = content as readonly Block[]
  const kinds: Substitute[] = []
  const kept = parts.flatMap((part) => {
    const substitute = isFields(part) && part.type === 'image' ? substituteOf(part) : undefined
    if (!substitute) return [part]
    kinds.push(substitute)
    return substitute.block ?? []
  })
  const [first] = kinds
  if (!first) return undefined
  if (kept.length === 0) return replaced(block, 'no part of it can be sent')
  return { ...first, block: { ...block, source: { ...source, content: kept } } as Block }
}

/**
 * Returns the text block that is sent in place of a block. The text is part of the rendered bytes: changing it breaks prompt caches.
 */
export const inPlaceOf = (block: Block, begin: string, problem?: string): Block => {
  const { type, title } = block
  const name = typeof title === 'string' && title !== '' ? [type, title] : [type]
  return {
    ...textBlock(
      `[${begin}: ${[...name, ...(problem === undefined ? [] : [problem])].join(', ')}]`.toWellFormed(),
    ),
    ...('cache_control' in block && { cache_control: block['cache_control'] }),
  }
}

const replaced = (block: Block, problem: string): Substitute => ({
  block: inPlaceOf(block, 'Not shown', problem),
  kind: 'media-replaced',
  detail: `a text stands for ${block.type === 'image' ? 'an image' : 'a document'}: ${problem}`,
})

export const isMedium = ({ type }: Block): boolean => type === 'image' || type === 'document'
