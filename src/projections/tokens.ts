import { type Block, isBlock, isWellShaped } from '../events/blocks.ts'

// Bytes per token, for current models: prose and code, dense JSON. A picture's tokens depend on its size; these are those of a large one.
const proseBytes = 3.3
const jsonBytes = 2
const pictureTokens = 1_600

/** A rough estimate of the tokens of blocks: whole, ≥ 0. Good enough to tell what is large; `estimate` (src/context/tokens) looks into pictures. */
export const estimateTokens = (blocks: readonly Block[]): number =>
  Math.ceil(blocks.reduce((sum, block) => sum + blockTokens(block), 0))

const blockTokens = (block: Block): number => {
  if (isBlock(block, 'text')) return Buffer.byteLength(block.text) / proseBytes
  if (isBlock(block, 'thinking')) return Buffer.byteLength(block.thinking) / proseBytes
  if (isBlock(block, 'image') || isBlock(block, 'document')) return pictureTokens
  if (isBlock(block, 'tool_result')) {
    const { content = '' } = block
    return typeof content === 'string'
      ? Buffer.byteLength(content) / proseBytes
      : estimateTokens(content.filter(isWellShaped))
  }
  return Buffer.byteLength(JSON.stringify(block)) / jsonBytes
}
