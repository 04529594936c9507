import { type AnyBlock, type Block, isWellShaped, textBlock, unknownBlock } from '../../../events/blocks.ts'
import { type Fields, isFields } from '../../../events/json.ts'
import {
  base64In,
  joinFacts,
  mediaBlock,
  mediaTypeOf,
  noteOn,
  pictureBlocks,
  utf8Of,
} from '../../context/policy/media.ts'

/** Names of the tools that a block may refer to; undefined if not all names are known. */
export type ToolNames = ReadonlySet<string> | undefined

/** Returns the names of the tools of a request; undefined if some tools come from an MCP server, which names them itself. */
export const toolNames = (tools: readonly Fields[] = []): ToolNames =>
  tools.every(({ name }) => typeof name === 'string')
    ? new Set(tools.map(({ name }) => String(name)))
    : undefined

/**
 * Converts a block returned by a tool to blocks for a tool result. Blocks of the API are adapted, blocks of an MCP client are converted
 * to the API's form, and any other block becomes JSON text. Content that cannot be shown to any model is also kept, after a text that
 * describes it; rendering omits it.
 */
export const resultBlocks = (given: AnyBlock, tools?: ToolNames): readonly Block[] => {
  const { type, data, mimeType, resource } = given
  const block = unknownBlock(given)
  // An image that the API cannot show is recorded unchanged.
  if (type === 'image' && typeof data === 'string')
    return pictureBlocks(data, mimeType).map((made) => ('data' in made ? block : made))
  if (type === 'audio' && typeof data === 'string') return [noteOn('audio', [mimeType], data), block]
  if (type === 'resource_link') {
    const { title, name, uri, description } = given
    return [textBlock(`[${joinFacts(type, [title ?? name, uri, mimeType, description])}]`)]
  }
  if (type === 'resource' && isFields(resource)) return resourceBlocks(block, resource)
  return ownBlocks(block, tools) ?? [textBlock(JSON.stringify(block))]
}

const resourceBlocks = (block: Block, resource: Fields): readonly Block[] => {
  const { uri, mimeType, text, blob } = resource
  const head = `[${joinFacts('resource', [uri, mimeType])}]`
  if (typeof text === 'string') return [textBlock(`${head}\n${text}`)]
  if (typeof blob !== 'string') return [textBlock(JSON.stringify(block))]
  const bytes = Buffer.from(blob, 'base64')
  const shown = mediaBlock(mediaTypeOf(bytes), blob)
  if (shown) return [textBlock(head), shown]
  const said = utf8Of(bytes)
  return said === undefined
    ? [noteOn('resource', [uri, mimeType], blob), block]
    : [textBlock(`${head}\n${said}`)]
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** Predicates for the values that the API accepts in optional fields, by field name. */
const optional: { readonly [field: string]: (value: unknown) => boolean } = {
  cache_control: (value) => isFields(value) && value['type'] === 'ephemeral',
  citations: (value) => typeof value === 'object' && value !== null,
  context: isText,
}

/** Returns the block with only the fields that the API accepts: a request with any other field is refused. */
const only = (block: Block, fields: readonly string[]): Block => {
  const known = Object.entries(block).filter(
    ([field, value]) =>
      ['type', 'cache_control', ...fields].includes(field) && (optional[field]?.(value) ?? true),
  )
  return Object.fromEntries(known) as Block
}

/**
 * Converts a block in the API's own form to one that the API accepts: a refused block would make every later request of the
 * conversation fail. Returns undefined for a block of an unknown type, or one that lacks a field that cannot be supplied.
 */
const ownBlocks = (block: Block, tools: ToolNames): readonly Block[] | undefined => {
  const { type }: AnyBlock = block
  switch (type) {
    case 'text':
      return typeof block['text'] === 'string' ? [only(block, ['text', 'citations'])] : undefined
    case 'image':
      return imageBlocks(only(block, ['source']))
    case 'document':
      return documentBlocks(only(block, ['source', 'title', 'context', 'citations']))
    case 'search_result':
      return searchResult(only(block, ['source', 'title', 'content', 'citations']))
    case 'tool_reference':
      return reference(only(block, ['tool_name']), tools)
    default:
      return undefined
  }
}

const imageBlocks = (block: Block): readonly Block[] | undefined => {
  const { source, ...rest } = block
  if (!isFields(source)) return undefined
  const { type, data, url, media_type: media } = source
  if (type === 'base64' && typeof data === 'string') return withRest(pictureBlocks(data, media), rest)
  // The API does not fetch data URLs.
  if (type === 'url' && typeof url === 'string' && base64In(url) !== url)
    return withRest(pictureBlocks(url, media), rest)
  return isElsewhere(source) ? [block] : undefined
}

/** Adds the other fields of the original block to each converted block that has a source. */
const withRest = (made: readonly Block[], rest: Fields): readonly Block[] =>
  made.map((block) => ('source' in block ? { ...rest, ...block } : block))

const isElsewhere = ({ type, url, file_id: file }: Fields): boolean =>
  (type === 'url' && isText(url)) || (type === 'file' && isText(file))

const documentBlocks = ({ title, ...untitled }: Block): readonly Block[] | undefined => {
  const block: Block = { ...untitled, ...(isText(title) && { title }) }
  const { source } = block
  if (!isFields(source)) return undefined
  const { type, data, content } = source
  const empty = [textBlock(`[${joinFacts('document', [title])}, empty]`)]
  if (type === 'base64' && typeof data === 'string') return fileBlocks(block, source, data)
  if (type === 'text' && typeof data === 'string') return isText(data) ? [plain(block, data)] : empty
  if (type === 'content' && typeof content === 'string') return isText(content) ? [block] : empty
  if (type === 'content' && Array.isArray(content)) {
    const shown = innerBlocks(content, ['text', 'image'])
    return shown.length > 0 ? [{ ...block, source: { type, content: shown } }] : empty
  }
  return isElsewhere(source) ? [block] : undefined
}

const plain = (block: Block, data: string): Block => ({
  ...block,
  source: { type: 'text', media_type: 'text/plain', data },
})

const fileBlocks = (block: Block, source: Fields, given: string): readonly Block[] => {
  const data = base64In(given)
  const bytes = Buffer.from(data, 'base64')
  const mediaType = mediaTypeOf(bytes)
  if (mediaType?.startsWith('image/')) return pictureBlocks(data, mediaType)
  // The signature of a PDF file may come after other bytes.
  if (mediaType || bytes.subarray(0, 1_024).includes('%PDF-'))
    return [{ ...block, source: { type: 'base64', media_type: 'application/pdf', data } }]
  const said = utf8Of(bytes)
  if (isText(said)) return [plain(block, said)]
  const { media_type: mimeType } = source
  return [
    noteOn('document', [block['title'], mimeType], data),
    unknownBlock({ type: 'document', data, mimeType }),
  ]
}

const innerBlocks = (content: readonly unknown[], types: readonly string[]): readonly Block[] =>
  content
    .filter((inner) => isWellShaped(inner))
    .flatMap((inner) => ownBlocks(inner, undefined) ?? [])
    .filter((inner) => isWellShaped(inner) && types.includes(inner.type))
    .filter(({ type, text }) => type !== 'text' || isText(text))

const searchResult = (block: Block): readonly Block[] | undefined => {
  const { source, title, content } = block
  if (!isText(source) || !Array.isArray(content)) return undefined
  const shown = innerBlocks(content, ['text'])
  const called = isText(title) ? title : source
  return shown.length > 0
    ? [{ ...block, title: called, content: shown }]
    : [textBlock(`[${joinFacts('search_result', [title, source])}, empty]`)]
}

const reference = (block: Block, tools: ToolNames): readonly Block[] | undefined => {
  const { tool_name: name } = block
  if (!isText(name)) return undefined
  return tools && !tools.has(name) ? [textBlock(`[tool_reference, ${name}: there is no such tool]`)] : [block]
}
