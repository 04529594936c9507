import { type Block, isWellShaped } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { mapped, memo } from '../memo.ts'
import { pictureIn } from '../pictures.ts'
import { isThinking } from './clean.ts'
import type { MessageDraft } from './drafts.ts'
import { inPlaceOf, isMedium, maxData } from './media.ts'
import type { Report } from './repairs.ts'

// How many images and documents a request may hold, and which give way: docs/adr/0042-images-give-way.md.

/** With more images than `many`, none may have a longer side than this, in pixels. */
const maxSideOfMany = 2_000
const many = 20
/** Images and documents that models with a window of 200,000 tokens take; others take 600. */
const maxMedia = 100

/** The room that an image or a document takes in a request. */
interface Weight {
  /** The block itself, or the images inside of it. */
  readonly media: number
  readonly images: number
  /** How many of these have a side that is too long among many. */
  readonly large: number
  /** Characters of base64, and of the texts of documents. */
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

/** One of the limits: of whatever takes something of it, the oldest give way. */
interface Limit {
  readonly takes: (weight: Weight) => boolean
  /** @param parts divides the limit */
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

/** An image or document of a request. */
interface Medium {
  readonly weight: Weight
  /** Index of its message. */
  readonly message: number
}

/** The media that stay, and the last message that made others give way; -1 if none did. */
interface Room {
  readonly kept: ReadonlySet<Medium>
  readonly last: number
}

/**
 * Looks at the media one after the other, as they came: where one is too many, the oldest give way until half of the room is free, so
 * that what was rendered before changes seldom. Which ones gave way when a medium came does not depend on what came later.
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

const weightsOfEach = mapped<readonly Block[], readonly Weight[]>()
const noWeights: readonly Weight[] = []

const weightsOf = (content: readonly Block[]): readonly Weight[] =>
  content.some((block) => isMedium(block) || innerOf(block).some(isMedium))
    ? content.flatMap((block) =>
        (isMedium(block) ? [block] : innerOf(block).filter(isMedium)).map((each) => weightOf(each)),
      )
    : noWeights

/**
 * Puts a text in the place of the oldest images and documents, if there are more than a request may hold. What was said before the last
 * ones gave way is shown without thinking, as they were there when it was produced.
 *
 * @param isKnown whether all thinking in a message is known to have been produced under these rules
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

/** A message with texts in place of some of its media; the same for the same content. `isCut`: a digit for each, 1 if it gives way. */
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
