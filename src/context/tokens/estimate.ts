import {
  type Block,
  isBlock,
  isWellShaped,
  type BlockSource,
  textBlock,
  unknownBlock,
} from '../../events/blocks.ts'
import type { Configuration } from '../../events/events.ts'
import { isResultType } from '../../projections/render/renderer.ts'
import { tokensByBytes } from '../../projections/tokens.ts'

// What the API's documentation says about pictures and PDF files; docs/adr/0010-counting-tokens.md.

/** A picture is one token per square of this many pixels, the last ones begun. */
const patch = 28
/** Larger ones are scaled down: to this many pixels on the long edge, and this many tokens. The limits of the models that accept most. */
const maxEdge = 2_576
const maxPictureTokens = 4_784
/** A page is its text and its picture; the documentation names 1,500 to 3,000. */
const pageTokens = 3_000
/** Bytes of a page in a PDF file whose pages cannot be counted. */
const pageBytes = 50_000

/** Tokens of a tool result besides its content: the least squares of 456 requests of a real session. */
const resultTokens = 13

interface Size {
  readonly width: number
  readonly height: number
}

/** About how many tokens system prompt and tools are to a model, whole, ≥ 0. */
export const estimatePrompt = (
  system: string | readonly Block[] = [],
  tools?: Configuration['tools'],
): number =>
  estimate(typeof system === 'string' ? [textBlock(system)] : system) +
  (tools ? tokensByBytes([unknownBlock({ type: 'tools', tools })]) : 0)

/** About how many tokens blocks are to a model, whole, ≥ 0: pictures and documents by their size, the rest by bytes. Never stored as `tokens`. */
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

/** Other blocks in a tool result are not sent. */
const isShown = (block: unknown): block is Block => isWellShaped(block) && isResultType(block.type)

const pictureTokens = (source: BlockSource): number => {
  const size = source.type === 'base64' ? sizeOf(Buffer.from(String(source.data), 'base64')) : undefined
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

/** Width and height in pixels, from a picture's first bytes; undefined if they do not say. */
const sizeOf = (file: Buffer): Size | undefined => {
  if (file.length < 30) return undefined
  if (file.toString('latin1', 1, 4) === 'PNG') return size(file.readUInt32BE(16), file.readUInt32BE(20))
  if (file.toString('latin1', 0, 3) === 'GIF') return size(file.readUInt16LE(6), file.readUInt16LE(8))
  if (file.toString('latin1', 8, 12) === 'WEBP') return webpSize(file)
  return file.readUInt16BE(0) === 0xffd8 ? jpegSize(file) : undefined
}

const size = (width: number, height: number): Size | undefined =>
  width > 0 && height > 0 ? { width, height } : undefined

const webpSize = (file: Buffer): Size | undefined => {
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return size(file.readUInt16LE(26) & 0x3fff, file.readUInt16LE(28) & 0x3fff)
    case 'VP8L': {
      const bits = file.readUInt32LE(21)
      return size((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return size(file.readUIntLE(24, 3) + 1, file.readUIntLE(27, 3) + 1)
    default:
      return undefined
  }
}

/** The size is in the first frame header; the segments before it say how long they are. */
const jpegSize = (file: Buffer): Size | undefined => {
  for (let at = 2; at + 9 <= file.length; at += 2 + file.readUInt16BE(at + 2)) {
    const marker = file.readUInt16BE(at)
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker)
    if (isFrame) return size(file.readUInt16BE(at + 7), file.readUInt16BE(at + 5))
    if (marker < 0xff01) return undefined
  }
  return undefined
}
