import { type Block, isBlock } from '../../../events/blocks.ts'
import { isFields } from '../../../events/json.ts'

/** A part of a message or of a tool result: a text, an image as base64 or at a URL, or anything else. */
export type BlockPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'image-url'; readonly url: string }
  | { readonly kind: 'other'; readonly type: string }

/** Returns a block for a client whose messages have only texts and images. The text of a document is a text. */
export const partOf = (block: Block): BlockPart => {
  if (isBlock(block, 'text')) return { kind: 'text', text: block.text }
  const source = block['source']
  if (!isFields(source)) return { kind: 'other', type: block.type }
  const { type, media_type: mediaType, data, url } = source
  if (isBlock(block, 'image') && type === 'base64')
    return { kind: 'image', mediaType: String(mediaType), data: String(data) }
  if (isBlock(block, 'image') && type === 'url') return { kind: 'image-url', url: String(url) }
  if (type === 'text') return { kind: 'text', text: String(data) }
  return { kind: 'other', type: block.type }
}

/** Returns the content of a tool result as parts. */
export const resultParts = (content: unknown): readonly BlockPart[] =>
  typeof content === 'string'
    ? content === ''
      ? []
      : [{ kind: 'text', text: content }]
    : (content as readonly Block[]).map(partOf)

/** Describes what a client cannot hold, for `lost`, and as the text that stands in its place. */
export const absentPart = (
  type: string,
  client: string,
): { readonly detail: string; readonly text: string } => {
  const what = `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type.replace('-url', ' at a URL')}`
  return { detail: `${what}, for which ${client} has no place`, text: `[${what} was here]` }
}
