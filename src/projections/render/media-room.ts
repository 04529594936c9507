import { type Block, isWellShaped } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { createListMap, memo } from '../memo.ts'
import { pictureIn } from '../pictures.ts'
import { isThinking } from './clean.ts'
import type { MessageDraft } from './drafts.ts'
import { inPlaceOf, isMedium, maxData } from './media.ts'
import type { Report } from './repairs.ts'

// Limits the images and documents in a request by replacing the oldest ones: docs/adr/0042-images-give-way.md.

/** Maximum width or height of an image, in pixels, in a request with more than `many` images. */
const maxSideOfMany = 2_000
const many = 20
/** Maximum number of images and documents in a request to models with a window of 200,000 tokens; other models accept 600. */
const maxMedia = 100

/** Amounts that an image or a document contributes to the limits of a request. */
interface Weight {
  /** Number of media: 1 for an image; for a document, 1 plus the number of images in it. */
  readonly media: number
  readonly images: number
  /** Number of images with a side that is too long for a request with many images. */
  readonly large: number
  /** Number of characters of base64 and of document text. */
  readonly data: number
}
const nothing: Weight = { media: 0, images: 0, large: 0, data: 0 }

const plus = (one: Weight, other: Weight, sign: 1 | -1 = 1): Weight => ({
  media: one.media + sign * other.media,
  images: one.images + sign * other.images,
  large: one.large + sign * other.large,
  data: one.data + sign * other.data,
})

const weightOf = memo((block: Block): Weight => {
  const { source } = block
  const { data, content }: Fields = isFields(source) ? source : {}
  const size = typeof data === 'string' ? data.length : 0
  if (block.type === 'image') {
    const shown = size > 0 ? pictureIn(String(data)) : undefined
    const isLarge = shown && Math.max(shown.width, shown.height) > maxSideOfMany
    return { media: 1, images: 1, large: isLarge ? 1 : 0, data: size }
  }
  const parts = Array.isArray(content) ? (content as readonly unknown[]).filter(isWellShaped) : []
  return parts
    .filter(({ type }) => type === 'image')
    .reduce((sum, part) => plus(sum, weightOf(part)), { ...nothing, media: 1, data: size })
})

/** A limit of a request. When it is exceeded, the oldest media that count toward it are dropped. */
interface Limit {
  readonly takes: (weight: Weight) => boolean
  /**
   * Reports whether the kept media exceed the limit.
   *
   * @param parts divisor of the limit
   */
  readonly isOver: (kept: Weight, parts: 1 | 2) => boolean
}
const limits: readonly Limit[] = [
  { takes: () => true, isOver: ({ media }, parts) => media > maxMedia / parts },
  {
    takes: ({ images }) => images > 0,
    isOver: ({ images, large }, parts) => images > many / parts && large > 0,
  },
  { takes: ({ data }) => data > 0, isOver: ({ data }, parts) => data > maxData / parts },
]

interface Medium {
  readonly weight: Weight
  /** Index of the message that contains the image or document. */
  readonly message: number
}

/** The media that are kept, and the index of the last message whose media displaced others; -1 if no media were displaced. */
interface Room {
  readonly kept: ReadonlySet<Medium>
  readonly last: number
}

/**
 * Decides in order of arrival which media are kept. When a medium exceeds a limit, the oldest media are dropped until half of the limit
 * is free, so that already rendered content rarely changes. The media dropped at each arrival do not depend on later ones.
 */
const roomFor = (media: readonly Medium[]): Room => {
  const kept = new Set<Medium>()
  let [sum, last] = [nothing, -1]
  for (const medium of media) {
    kept.add(medium)
    sum = plus(sum, medium.weight)
    for (const { takes, isOver } of limits) {
      if (!isOver(sum, 1)) continue
      last = medium.message
      for (const oldest of kept) {
        if (!isOver(sum, 2)) break
        if (!takes(oldest.weight)) continue
        kept.delete(oldest)
        sum = plus(sum, oldest.weight, -1)
      }
    }
  }
  return { kept, last }
}

const innerOf = (block: Block): readonly Block[] =>
  block.type === 'tool_result' && Array.isArray(block['content'])
    ? (block['content'] as readonly Block[])
    : []

const weightsOfEach = createListMap<readonly Block[], readonly Weight[]>()
const noWeights: readonly Weight[] = []

const weightsOf = (content: readonly Block[]): readonly Weight[] =>
  content.some((block) => isMedium(block) || innerOf(block).some(isMedium))
    ? content.flatMap((block) =>
        (isMedium(block) ? [block] : innerOf(block).filter(isMedium)).map((each) => weightOf(each)),
      )
    : noWeights

/**
 * Replaces the oldest images and documents with text if a request may not hold all of them. Replies from before the last replacement
 * are shown without thinking, because they were produced while the replaced media were shown.
 *
 * @param isKnown function that reports whether all thinking in a message is known to have been produced under these rules
 */
export const limitMedia = <
  D extends Pick<MessageDraft, 'position' | 'role'> & { readonly content: readonly Block[] },
>(
  drafts: readonly D[],
  isKnown: (draft: D) => boolean,
  report: Report,
): readonly D[] => {
  const contents = drafts.map(({ content }) => content)
  const media = weightsOfEach(contents, weightsOf).map((weights, message) =>
    weights.map((weight): Medium => ({ weight, message })),
  )
  const { kept, last } = roomFor(media.flat())
  if (last < 0) return drafts
  return drafts.map((draft, index) => {
    const isCut = (media[index] ?? []).map((medium) => !kept.has(medium))
    for (const each of isCut)
      if (each)
        report(
          'media-replaced',
          draft.position,
          'a text replaces an older image or document: a request has no room for more',
        )
    const content = isCut.includes(true)
      ? withoutMedia(draft.content, isCut.map(Number).join(''))
      : draft.content
    const hasThinking = draft.role === 'assistant' && content.some(isThinking)
    if (!hasThinking || (index > last && isKnown(draft)))
      return content === draft.content ? draft : { ...draft, content }
    report(
      'thinking-dropped',
      draft.position,
      'an image or document before it was shown when it was produced',
    )
    return { ...draft, content: withoutThinking(content) }
  })
}

/**
 * Replaces some of the media in a message with text; returns the same object for the same content. `isCut` has one digit per medium: 1
 * to replace it.
 */
const withoutMedia = memo((content: readonly Block[], isCut): readonly Block[] => {
  let nth = 0
  const shown = (block: Block): Block => {
    if (isMedium(block)) return isCut[nth++] === '1' ? inPlaceOf(block, 'Not shown any more') : block
    const inner = innerOf(block)
    if (!inner.some(isMedium)) return block
    const given = inner.map(shown)
    return given.every((each, index) => each === inner[index]) ? block : { ...block, content: given }
  }
  return content.map(shown)
})

const withoutThinking = memo((content: readonly Block[]): readonly Block[] =>
  content.filter((block) => !isThinking(block)),
)
