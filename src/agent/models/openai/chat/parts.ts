import { type Block, isBlock, isWellShaped } from '../../../../events/blocks.ts'
import { isFields } from '../../../../events/json.ts'
import type { ChatForm, ChatPart, ChatReport } from './types.ts'

export const textPart = (text: string): ChatPart => ({ type: 'text', text })

/** Joins the texts of the parts, separated by blank lines. */
export const textOf = (parts: readonly ChatPart[]): string =>
  parts.flatMap(({ text }) => (typeof text === 'string' ? text : [])).join('\n\n')

export const isMedia = ({ type }: ChatPart): boolean => type !== 'text'

/** Converts a block into parts of a user message. There is always at least one part, because a message without parts would be omitted. */
export const partsOf = (block: Block, form: ChatForm, report: ChatReport): readonly ChatPart[] => {
  if ('cache_control' in block) report('cache-control-dropped', 'the API caches by itself', block)
  if (isBlock(block, 'text')) return [textPart(block.text)]
  if (isBlock(block, 'image')) return [imagePart(block, form) ?? noteOn(block, report)]
  if (isBlock(block, 'document')) return documentParts(block, form, report)
  if (block.type === 'compaction') {
    const { content } = block
    report('shown-as-text', 'a compaction of another API', block)
    return [textPart(typeof content === 'string' ? content : JSON.stringify(content))]
  }
  if (block.type === 'search_result') return [searchResult(block, report)]
  return [noteOn(block, report)]
}

const imagePart = (block: Block & { readonly type: 'image' }, { images }: ChatForm): ChatPart | undefined => {
  const { type, media_type, data, url } = block.source
  if (images === false) return undefined
  if (type === 'base64') return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}` } }
  return type === 'url' && typeof url === 'string' ? { type: 'image_url', image_url: { url } } : undefined
}

const documentParts = (
  block: Block & { readonly type: 'document' },
  form: ChatForm,
  report: ChatReport,
): readonly ChatPart[] => {
  const { source, title, context } = block
  const { type, data, content } = source
  const about = [title, context].filter((text) => typeof text === 'string' && text !== '')
  if (type === 'base64' && form.files !== false) {
    if (context) report('shown-as-text', 'what is said about a document', block)
    const file_data = `data:${source.media_type ?? 'application/pdf'};base64,${data}`
    const file: ChatPart = { type: 'file', file: { filename: fileName(title), file_data } }
    return context ? [textPart(context), file] : [file]
  }
  const inner =
    type === 'text' && typeof data === 'string'
      ? [textPart(data)]
      : typeof content === 'string'
        ? [textPart(content)]
        : Array.isArray(content)
          ? (content as readonly unknown[])
              .filter(isWellShaped)
              .flatMap((each) => partsOf(each, form, report))
          : []
  if (inner.length === 0) return [noteOn(block, report)]
  report('shown-as-text', 'a document', block)
  return about.length > 0 ? [textPart(about.join('\n')), ...inner] : inner
}

const fileName = (title: unknown): string =>
  typeof title === 'string' && title.trim() !== '' ? title : 'document.pdf'

const searchResult = (block: Block, report: ChatReport): ChatPart => {
  const { title, source, content } = block
  const said = Array.isArray(content)
    ? (content as readonly unknown[]).filter(isFields).map(({ text }) => text)
    : []
  report('shown-as-text', 'a search result', block)
  return textPart([title, source, ...said].filter((text) => typeof text === 'string').join('\n'))
}

/** Returns the note that replaces a block that Chat Completions cannot represent. */
const noteOn = (block: Block, report: ChatReport): ChatPart => {
  const { type, title, source, name, tool_name, file_id } = block
  const from = isFields(source) ? [source['media_type'], source['url'], source['file_id']] : [source]
  const facts = [title, ...from, name, tool_name, file_id].filter(
    (fact) => typeof fact === 'string' && fact !== '',
  )
  report('shown-as-text', `a block of type ${type}`, block)
  return textPart(`[Not shown: ${[type, ...facts].join(', ')}]`)
}
