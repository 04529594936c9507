import { type Block, isBlock, isWellShaped } from '../events/blocks.ts'

// Bytes per token of current models, for prose and code, and for dense JSON. Tokens of a picture depend on its size; this is the number
// for a large picture.
const proseBytes = 3.3
const jsonBytes = 2
const pictureTokens = 1_600

/**
 * Estimates the tokens of blocks from their bytes alone: an integer ≥ 0. Markers store the result, and sums over markers of any age
 * must use one measure, so this rule never changes. For the size of a request to a model, use `estimate` (src/agent/context/tokens),
 * whose rule may change. ADR 10.
 */
export const tokensByBytes = (blocks: readonly Block[]): number =>
  Math.ceil(blocks.reduce((sum, block) => sum + blockTokens(block), 0))

const blockTokens = (block: Block): number => {
  if (isBlock(block, 'text')) return Buffer.byteLength(block.text) / proseBytes
  if (isBlock(block, 'thinking')) return Buffer.byteLength(block.thinking) / proseBytes
  if (isBlock(block, 'image') || isBlock(block, 'document')) return pictureTokens
  if (isBlock(block, 'tool_result')) {
    const { content = '' } = block
    return typeof content === 'string'
      ? Buffer.byteLength(content) / proseBytes
      : tokensByBytes(content.filter(isWellShaped))
  }
  return Buffer.byteLength(JSON.stringify(block)) / jsonBytes
}
