import { type Block, isWellShaped } from '../events/blocks.ts'
import { isResultType } from '../projections/render/clean.ts'

export type Fields = { readonly [field: string]: unknown }
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const textBlock = (text: string): Block => ({ type: 'text', text })

/**
 * A block that a tool gave back, as it may stand in a tool result: one of the API's as it is, one of an MCP client in the API's
 * form, any other as JSON. What no model can be shown stays as well, behind a text that says what it is: rendering leaves it out.
 */
export const resultBlocks = (block: Block): readonly Block[] => {
  const { data, mimeType, resource } = block
  if (block.type === 'text' && typeof block['text'] === 'string') return [plainText(block)]
  if (block.type === 'image' && typeof data === 'string') return pictureBlocks(block, data)
  if (block.type === 'audio' && typeof data === 'string') return [noteOn('audio', [mimeType], data), block]
  if (block.type === 'resource_link') return [textBlock(linkText(block))]
  if (block.type === 'resource' && isFields(resource)) return resourceBlocks(block, resource)
  return isResultType(block.type) && isWhole(block) ? [block] : [textBlock(JSON.stringify(block))]
}

/** Fields of MCP's that the API refuses. */
const plainText = (block: Block): Block => {
  const { annotations: _, _meta: __, ...plain } = block
  return plain
}

const isWhole = (block: Block): boolean => {
  const { source, title, content, tool_name: tool } = block
  switch (block.type) {
    case 'search_result':
      return typeof source === 'string' && typeof title === 'string' && Array.isArray(content)
    case 'tool_reference':
      return typeof tool === 'string'
    default:
      return isWellShaped(block) && (!isFields(source) || isSource(source))
  }
}

const isSource = ({ type, data, media_type: media }: Fields): boolean =>
  (type !== 'base64' && type !== 'text') || (typeof data === 'string' && typeof media === 'string')

const base64 = /^data:[^,]*;base64,/

/** The picture, if it is one that a model can be shown. */
const pictureBlocks = (block: Block, given: string): readonly Block[] => {
  const data = given.replace(base64, '')
  const shown = shownBlock(mediaTypeOf(Buffer.from(data, 'base64')), data)
  return shown ? [shown] : [noteOn('image', [block['mimeType']], data), block]
}

const resourceBlocks = (block: Block, resource: Fields): readonly Block[] => {
  const { uri, mimeType, text, blob } = resource
  if (typeof text === 'string') return [textBlock(`[${named('resource', [uri, mimeType])}]\n${text}`)]
  if (typeof blob !== 'string') return [textBlock(JSON.stringify(block))]
  const bytes = Buffer.from(blob, 'base64')
  const shown = shownBlock(mediaTypeOf(bytes), blob)
  if (shown) return [textBlock(`[${named('resource', [uri, mimeType])}]`), shown]
  const said = utf8Of(bytes)
  return said === undefined
    ? [noteOn('resource', [uri, mimeType], blob), block]
    : [textBlock(`[${named('resource', [uri, mimeType])}]\n${said}`)]
}

const linkText = ({ title, name, uri, mimeType, description }: Block): string =>
  `[${named('resource_link', [title ?? name, uri, mimeType, description])}]`

/** Bytes as a picture, a document or a text, if they are one. */
export const bytesBlocks = (bytes: Buffer): string | readonly Block[] => {
  const data = bytes.toString('base64')
  const shown = shownBlock(mediaTypeOf(bytes), data)
  if (shown) return [shown]
  const mimeType = 'application/octet-stream'
  return (
    utf8Of(bytes) ?? [
      noteOn('bytes', [], data),
      { type: 'resource', resource: { uri: 'data:', mimeType, blob: data } },
    ]
  )
}

const named = (what: string, facts: readonly unknown[]): string =>
  [what, ...facts.filter((fact) => typeof fact === 'string' && fact !== '')].join(', ')

const noteOn = (what: string, facts: readonly unknown[], data: string): Block =>
  textBlock(
    `[${named(what, facts)}, ${Buffer.byteLength(data, 'base64')} bytes: recorded, but you cannot be shown it]`,
  )

const shownBlock = (mediaType: string | undefined, data: string): Block | undefined =>
  mediaType === undefined
    ? undefined
    : {
        type: mediaType === 'application/pdf' ? 'document' : 'image',
        source: { type: 'base64', media_type: mediaType, data },
      }

/** What a file is by its first bytes, whatever its name says: the API refuses a picture that is called another one. */
const mediaTypeOf = (bytes: Buffer): string | undefined => {
  const begins = (signature: string, at = 0): boolean =>
    bytes.toString('latin1', at, at + signature.length) === signature
  if (begins('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins('\xff\xd8\xff')) return 'image/jpeg'
  if (begins('GIF8')) return 'image/gif'
  if (begins('RIFF') && begins('WEBP', 8)) return 'image/webp'
  return begins('%PDF-') ? 'application/pdf' : undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text that the bytes are; undefined if they are none. */
const utf8Of = (bytes: Buffer): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
