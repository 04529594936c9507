import { type Block, isBlock, isWellShaped } from '../events/blocks.ts'

// Bytes a token, for current models: prose and code, dense JSON. A picture's share depends on its size; this is a large one's.
const proseBytes = 3.3
const jsonBytes = 2
const pictureTokens = 1_600

/** About how many tokens the blocks are to a model: whole, ≥ 0; good to tell what is large, not to count by. */
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
