import type { Block } from '../../src/events/blocks.ts'
import type { Case, Predicate } from './predicates.ts'

// What the documentation says about images, as of 2026-11 ("Vision"; the texts of errors are from public issues). Nothing of src is read
// here: render is judged by this.

type Source = { readonly type?: unknown; readonly media_type?: unknown; readonly data?: unknown }
interface Placed {
  readonly path: string
  readonly block: Block
}

const list = (value: unknown): readonly Block[] => (Array.isArray(value) ? (value as readonly Block[]) : [])

const sourceOf = (block: Block): Source =>
  typeof block['source'] === 'object' && block['source'] !== null ? block['source'] : {}

/** Blocks and those inside of them, in the order of the request. */
const deep = (blocks: readonly Block[], path: string): readonly Placed[] =>
  blocks.flatMap((block, at) => {
    const here = `${path}.${at}`
    const inner = block.type === 'tool_result' ? block['content'] : (sourceOf(block) as Block)['content']
    return [{ path: here, block }, ...deep(list(inner), `${here}.content`)]
  })

const mediaIn = ({ messages }: Case['rendered']): readonly Placed[] =>
  messages
    .flatMap(({ content }, index) => deep(content, `messages.${index}.content`))
    .filter(({ block: { type } }) => type === 'image' || type === 'document')

/** The sides of a file, by the definition of its format; undefined if it is none of them, and cut off. */
const sidesIn = (file: Buffer): readonly [type: string, width: number, height: number] | undefined => {
  const hex = file.toString('hex', 0, 16)
  if (hex.startsWith('89504e470d0a1a0a') && file.length > 24)
    return ['image/png', file.readUInt32BE(16), file.readUInt32BE(20)]
  if (hex.startsWith('474946383')) return ['image/gif', file.readUInt16LE(6), file.readUInt16LE(8)]
  if (hex.startsWith('52494646') && hex.endsWith('57454250', 24) && file.length >= 30) {
    const kind = file.toString('latin1', 12, 16)
    if (kind === 'VP8X') return ['image/webp', file.readUIntLE(24, 3) + 1, file.readUIntLE(27, 3) + 1]
    const bits = kind === 'VP8L' ? file.readUInt32LE(21) : file.readUInt32LE(26)
    const more = kind === 'VP8L' ? 1 : 0
    return ['image/webp', (bits & 0x3fff) + more, ((bits >>> (kind === 'VP8L' ? 14 : 16)) & 0x3fff) + more]
  }
  if (!hex.startsWith('ffd8ff')) return undefined
  for (let at = 2; at + 9 < file.length; at += 2 + file.readUInt16BE(at + 2)) {
    const code = file[at + 1] ?? 0
    if (code >= 0xc0 && code < 0xd0 && code % 4 !== 0)
      return ['image/jpeg', file.readUInt16BE(at + 7), file.readUInt16BE(at + 5)]
  }
  return undefined
}

const problemIn = (block: Block, isAmongMany: boolean): string | undefined => {
  const { type, media_type, data } = sourceOf(block)
  if (block.type !== 'image' || type !== 'base64') return undefined
  if (typeof data !== 'string' || Buffer.from(data, 'base64').toString('base64') !== data)
    return 'Could not process image'
  if (data.length > 5_242_880) return `image exceeds 5 MB maximum: ${data.length} bytes > 5242880 bytes`
  const [is, width = 0, height = 0] = sidesIn(Buffer.from(data, 'base64')) ?? []
  if (width === 0 || height === 0) return 'Could not process image'
  if (is !== media_type) return `Image does not match the provided media type ${String(media_type)}`
  const longest = Math.max(width, height)
  if (longest > 8_000) return 'At least one of the image dimensions exceed max allowed size: 8000 pixels'
  return isAmongMany && longest > 2_000
    ? 'At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels'
    : undefined
}

/** 17. Each image is one, of the type that is named, and as large as it may be. */
const pictured: Predicate = ({ rendered }) => {
  const media = mediaIn(rendered)
  const isAmongMany = media.filter(({ block: { type } }) => type === 'image').length > 20
  return media.flatMap(({ path, block }) => {
    const problem = problemIn(block, isAmongMany)
    return problem === undefined ? [] : [`${path}.image.source.base64: ${problem}`]
  })
}

/** 18. There are as many of them as fit into any request. */
const roomy: Predicate = ({ rendered }) => {
  const media = mediaIn(rendered)
  const images = media.filter(({ block: { type } }) => type === 'image').length
  const bytes = media.length > 0 ? Buffer.byteLength(JSON.stringify(rendered.messages)) : 0
  return [
    ...(media.length > 100
      ? [`too many images and documents: ${images} + ${media.length - images} > 100`]
      : []),
    ...(bytes > 32_000_000 ? ['Request exceeds the maximum size'] : []),
  ]
}

export const mediaPredicates = { pictured, roomy }

const isNote = ({ block }: Placed): boolean =>
  block.type === 'text' && /^\[Not shown any more: (image|document)/.test(block.text)

const isMedium = ({ block: { type } }: Placed): boolean => type === 'image' || type === 'document'

/** The images and documents of a request, and the texts that replaced some. */
const placesIn = ({ messages }: Case['rendered']): readonly Placed[] =>
  messages
    .flatMap(({ content }, index) => deep(content, `messages.${index}.content`))
    .filter((placed) => isNote(placed) || isMedium(placed))

/**
 * Whether images had to give way since an earlier request: with those that it showed and those that came since, the request would be
 * refused. Only then may render change what it showed.
 */
export const hadToGiveWay = (before: Case['rendered'], now: Case['rendered']): boolean => {
  const [earlier, all] = [placesIn(before), placesIn(now)]
  const since = all.slice(earlier.length)
  // What came since and is a text by now gave way in between: the requests in between are compared, too.
  const shown = [...earlier.filter(isMedium), ...since].map(({ block }) => block)
  return (
    since.some(isNote) ||
    [pictured, roomy].some(
      (predicate) =>
        predicate({ rendered: { ...now, messages: [{ role: 'user', content: shown }] } }).length > 0,
    )
  )
}

/** A request with a text for every image and document, and without thinking: what giving way leaves as it was. */
export const withoutMedia = (rendered: Case['rendered']): Case['rendered'] => {
  const bare = (content: readonly Block[]): readonly Block[] =>
    content
      .filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
      .map((block): Block => {
        if (block.type === 'tool_result' && Array.isArray(block['content']))
          return { ...block, content: bare(list(block['content'])) }
        const { type } = block
        const isGone = isNote({ path: '', block }) || type === 'image' || type === 'document'
        return isGone ? { type: 'text', text: '[medium]' } : block
      })
  return {
    ...rendered,
    messages: rendered.messages.map((message) => ({ ...message, content: bare(message.content) as never })),
  }
}
