import {
  type Block,
  isBlock,
  isWellShaped,
  type BlockSource,
  textBlock,
  unknownBlock,
} from '../../../events/blocks.ts'
import type { Configuration } from '../../../events/events.ts'
import { pictureIn } from '../../../projections/pictures.ts'
import { isResultType } from '../../../projections/render/renderer.ts'
import { tokensByBytes } from '../../../projections/tokens.ts'

// Values for pictures and PDF files from the API's documentation; see docs/adr/0010-counting-tokens.md.

/** Side length, in pixels, of the square that counts as one token of a picture. Partial squares count as whole ones. */
const patch = 28
/**
 * Length, in pixels, to which the long edge of a larger picture is scaled down. `maxPictureTokens` is the maximum token count of a
 * picture. Both values are the limits of the models that accept the largest pictures.
 */
const maxEdge = 2_576
const maxPictureTokens = 4_784
/** Estimated tokens of a document page, including its text and its picture; the documentation says 1,500 to 3,000. */
const pageTokens = 3_000
/** Assumed bytes per page of a PDF file whose pages cannot be counted. */
const pageBytes = 50_000

/** Tokens of a tool result in addition to its content, from a least-squares fit over 456 requests of a real session. */
const resultTokens = 13

/** Estimates the tokens of the system prompt and the tools: an integer ≥ 0. */
export const estimatePrompt = (
  system: string | readonly Block[] = [],
  tools?: Configuration['tools'],
): number =>
  estimate(typeof system === 'string' ? [textBlock(system)] : system) +
  (tools ? tokensByBytes([unknownBlock({ type: 'tools', tools })]) : 0)

/**
 * Estimates the tokens of the blocks, an integer ≥ 0: pictures and documents by their size, other blocks by their bytes. The estimates
 * are never stored as `tokens`.
 */
export const estimate = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + blockTokens(block), 0)

const blockTokens = (block: Block): number => {
  if (isBlock(block, 'image')) return pictureTokens(block.source)
  if (isBlock(block, 'document')) return documentTokens(block.source)
  if (!isBlock(block, 'tool_result')) return tokensByBytes([block])
  return (
    resultTokens +
    (Array.isArray(block.content) ? estimate(block.content.filter(isShown)) : tokensByBytes([block]))
  )
}

/** Reports whether a block in a tool result is sent to the model; other blocks are omitted. */
const isShown = (block: unknown): block is Block => isWellShaped(block) && isResultType(block.type)

const pictureTokens = (source: BlockSource): number => {
  const size = source.type === 'base64' ? pictureIn(String(source.data)) : undefined
  if (!size) return tokensByBytes([{ type: 'image', source }])
  const scale = Math.min(1, maxEdge / Math.max(size.width, size.height))
  const patches = (pixels: number): number => Math.ceil((pixels * scale) / patch)
  return Math.min(maxPictureTokens, patches(size.width) * patches(size.height))
}

const documentTokens = (source: BlockSource): number => {
  const { data, content } = source
  if (source.type === 'text') return tokensByBytes([textBlock(String(data))])
  if (typeof content === 'string') return tokensByBytes([textBlock(content)])
  if (Array.isArray(content)) return estimate((content as readonly unknown[]).filter(isWellShaped))
  if (source.type !== 'base64') return pageTokens
  const file = Buffer.from(String(data), 'base64')
  const pages = file.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length
  return pageTokens * (pages ?? Math.ceil(file.length / pageBytes))
}
