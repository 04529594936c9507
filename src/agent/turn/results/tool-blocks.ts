import { type Block, type AnyBlock, textBlock, unknownBlock } from '../../../events/blocks.ts'
import { ownBlocks, type ToolNames } from './tool-own-blocks.ts'
import { type Fields, isFields } from '../../../events/json.ts'
import {
  mediaTypeOf,
  joinFacts,
  noteOn,
  pictureBlocks,
  mediaBlock,
  utf8Of,
} from '../../context/policy/media.ts'

/**
 * Converts a block returned by a tool to blocks for a tool result. Blocks of the API are adapted, blocks of an MCP client are converted
 * to the API's form, and any other block becomes JSON text. Content that cannot be shown to any model is also kept, after a text that
 * describes it; rendering omits it.
 */
export const resultBlocks = (given: AnyBlock, tools?: ToolNames): readonly Block[] => {
  const { type, data, mimeType, resource } = given
  const block = unknownBlock(given)
  if (type === 'image' && typeof data === 'string') return foreignPicture(block, data)
  if (type === 'audio' && typeof data === 'string') return [noteOn('audio', [mimeType], data), block]
  if (type === 'resource_link') return [textBlock(linkText(block))]
  if (type === 'resource' && isFields(resource)) return resourceBlocks(block, resource)
  return ownBlocks(block, tools) ?? [textBlock(JSON.stringify(block))]
}

/** Converts an image in another format to the API's format. An image that the API cannot show is recorded unchanged. */
const foreignPicture = (block: Block, data: string): readonly Block[] =>
  pictureBlocks(data, block['mimeType']).map((made) => ('data' in made ? block : made))

const resourceBlocks = (block: Block, resource: Fields): readonly Block[] => {
  const { uri, mimeType, text, blob } = resource
  if (typeof text === 'string') return [textBlock(`[${joinFacts('resource', [uri, mimeType])}]\n${text}`)]
  if (typeof blob !== 'string') return [textBlock(JSON.stringify(block))]
  const bytes = Buffer.from(blob, 'base64')
  const shown = mediaBlock(mediaTypeOf(bytes), blob)
  if (shown) return [textBlock(`[${joinFacts('resource', [uri, mimeType])}]`), shown]
  const said = utf8Of(bytes)
  return said === undefined
    ? [noteOn('resource', [uri, mimeType], blob), block]
    : [textBlock(`[${joinFacts('resource', [uri, mimeType])}]\n${said}`)]
}

const linkText = ({ title, name, uri, mimeType, description }: Block): string =>
  `[${joinFacts('resource_link', [title ?? name, uri, mimeType, description])}]`
