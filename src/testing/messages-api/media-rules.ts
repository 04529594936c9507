import type { ApiBlock } from './blocks.ts'
import {
  inside,
  type ApiModel,
  type PlacedBlock,
  pathOf,
  problem,
  type ApiRefusal,
  type ParsedRequest,
} from './request.ts'

// The published limits of images and documents (docs of the API, "Vision", 2026-11), with the texts of errors that public issues quote.

const mediaTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
const maxBase64 = 5_242_880
const maxSide = 8_000
const maxSideOfMany = 2_000
const many = 20

/** Returns the maximum number of images and documents in a request. Models with a small context window accept fewer. */
const maxMedia = ({ contextWindow }: ApiModel): number => (contextWindow > 200_000 ? 600 : 100)

type Fields = Readonly<Record<string, unknown>>
interface Placed {
  readonly path: string
  readonly block: ApiBlock
}

const sourceOf = ({ source }: ApiBlock): Fields =>
  typeof source === 'object' && source !== null ? (source as Fields) : {}

/** Returns the images and documents in a block: the block itself, and any images and documents inside a tool result or a document. */
const mediaOf = (block: ApiBlock, path: string): readonly Placed[] => {
  const { content } = sourceOf(block)
  const inner =
    block.type === 'document' && Array.isArray(content) ? (content as readonly ApiBlock[]) : inside(block)
  const between = block.type === 'document' ? 'document.source.content' : 'tool_result.content'
  return [
    ...(block.type === 'image' || block.type === 'document' ? [{ path, block }] : []),
    ...inner.flatMap((each, at) => mediaOf(each, `${path}.${between}.${at}`)),
  ]
}

/** Returns the first problem with the images and documents of a request. */
export const mediaProblem = ({ parts }: ParsedRequest, model: ApiModel): ApiRefusal | undefined => {
  const media = parts.flatMap((part: PlacedBlock) => mediaOf(part.block, pathOf(part)))
  const images = media.filter(({ block }) => block.type === 'image')
  const documents = media.length - images.length
  if (media.length > maxMedia(model))
    return problem(`too many images and documents: ${images.length} + ${documents} > ${maxMedia(model)}`)
  for (const { path, block } of images) {
    const found = imageProblem(sourceOf(block), images.length > many)
    if (found !== undefined) return problem(`${path}.image.source${found}`)
  }
  return undefined
}

const imageProblem = ({ type, media_type: name, data }: Fields, isAmongMany: boolean): string | undefined => {
  if (type !== 'base64') return undefined
  if (typeof name !== 'string' || !mediaTypes.has(name))
    return ".base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
  if (typeof data !== 'string') return '.base64.data: Field required'
  if (data === '') return '.base64: image cannot be empty'
  if (data.length > maxBase64)
    return `.base64: image exceeds 5 MB maximum: ${data.length} bytes > ${maxBase64} bytes`
  const file = Buffer.from(data, 'base64')
  if (file.toString('base64') !== data) return '.base64.data: Invalid base64 data'
  const found = fileOf(file)
  if (!found) return '.base64.data: Could not process image'
  if (found.type !== name) return `.base64.data: Image does not match the provided media type ${name}`
  const side = Math.max(found.width, found.height)
  if (side > maxSide)
    return `.base64.data: At least one of the image dimensions exceed max allowed size: ${maxSide} pixels`
  return isAmongMany && side > maxSideOfMany
    ? `.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: ${maxSideOfMany} pixels`
    : undefined
}

interface File {
  readonly type: string
  readonly width: number
  readonly height: number
}

/** Returns the type and dimensions of an image file; undefined if the type is unknown or the file is too short to state them. */
const fileOf = (file: Buffer): File | undefined => {
  try {
    const found = readers.map((reader) => reader(file)).find((read) => read !== undefined)
    return found && found.width > 0 && found.height > 0 ? found : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const startsWith = (file: Buffer, text: string, at = 0): boolean =>
  file.subarray(at, at + text.length).equals(Buffer.from(text, 'latin1'))

const readers: readonly ((file: Buffer) => File | undefined)[] = [
  (file) =>
    startsWith(file, '\x89PNG\r\n\x1a\n') && startsWith(file, 'IHDR', 12)
      ? { type: 'image/png', width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
      : undefined,
  (file) =>
    startsWith(file, 'GIF87a') || startsWith(file, 'GIF89a')
      ? { type: 'image/gif', width: file.readUInt16LE(6), height: file.readUInt16LE(8) }
      : undefined,
  (file) => {
    if (!startsWith(file, 'RIFF') || !startsWith(file, 'WEBPVP8', 8)) return undefined
    const type = 'image/webp'
    // The character after `VP8` names the format: lossy (a space), lossless (`L`) or extended (`X`).
    switch (file.toString('latin1', 15, 16)) {
      case ' ':
        return { type, width: file.readUInt16LE(26) % 0x4000, height: file.readUInt16LE(28) % 0x4000 }
      case 'L': {
        const bits = file.readUInt32LE(21)
        return { type, width: (bits % 0x4000) + 1, height: ((bits >>> 14) % 0x4000) + 1 }
      }
      case 'X':
        return { type, width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 }
      default:
        return undefined
    }
  },
  (file) => {
    if (!startsWith(file, '\xff\xd8\xff')) return undefined
    let at = 2
    while (file.readUInt8(at) === 0xff) {
      const code = file.readUInt8(at + 1)
      // Frame headers are C0 to CF, except C4, C8 and CC, which are other segments; FF is padding.
      if (code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc)
        return { type: 'image/jpeg', height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) }
      at += code === 0xff ? 1 : 2 + file.readUInt16BE(at + 2)
    }
    return undefined
  },
]
