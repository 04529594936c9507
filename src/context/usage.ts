import type { Effective, Item, MessageItem } from '../projections/effective.ts'

/**
 * A reply whose real usage is recorded: the items from index `from` up to, not including, `to`.
 *
 * 1. The context was `input` tokens when the reply began, with the prompt and everything shown before it.
 * 2. The reply itself is `output` tokens; at least so many if it is not `finished`.
 */
export interface Anchor {
  readonly from: number
  readonly to: number
  readonly position: number
  readonly model: string | undefined
  readonly input: number
  readonly output: number
  /** Usage of a stream's beginning knows the input, but only the first tokens of the reply. */
  readonly finished: boolean
}

/** The replies of a history that say what they were counted as, in its order. */
export const anchorsOf = ({ items }: Effective): readonly Anchor[] => {
  const anchors: Anchor[] = []
  for (let from = 0, to = 1; from < items.length; from = to++) {
    if (!isReply(items[from])) continue
    while (isPart(items, to)) to++
    const anchor = anchorOf(items, from, to)
    if (anchor) anchors.push(anchor)
  }
  return anchors
}

const isReply = (item: Item | undefined): item is MessageItem =>
  item?.kind === 'message' && item.role === 'assistant'

/** Whether an item goes on with the reply before it: a reply may be stored in parts. */
const isPart = (items: readonly Item[], index: number): boolean => {
  const id = requestOf(items[index])
  return id !== undefined && id === requestOf(items[index - 1])
}

const requestOf = (item: Item | undefined): string | undefined =>
  isReply(item) ? item.origin?.requestId : undefined

const anchorOf = (items: readonly Item[], from: number, to: number): Anchor | undefined => {
  const { position } = items[from] as Item
  let said = items[to - 1] as Item
  for (let index = to - 1; index >= from && !hasUsage(said); index--) said = items[index] as Item
  const counted = hasUsage(said) ? counts(said) : undefined
  return counted && { from, to, position, ...counted }
}

const hasUsage = (item: Item): item is MessageItem => isReply(item) && item.origin?.usage !== undefined

type Counted = Pick<Anchor, 'model' | 'input' | 'output' | 'finished'>

const counts = ({ origin = {} }: MessageItem): Counted | undefined => {
  const { usage = {}, stopReason, model } = origin
  const [first = usage, last = first] = iterationsOf(usage)
  const input = inputOf(first)
  if (input === 0) return undefined
  const output = inputOf(last) + tokensIn(last, 'output_tokens') - input
  return { model, input, output, finished: stopReason !== null }
}

type Usage = Readonly<Record<string, unknown>>

/** The first and the last sampling of the model behind the last server compaction; none where the usage is not broken down. */
const iterationsOf = ({ iterations }: Usage): readonly Usage[] => {
  if (!Array.isArray(iterations)) return []
  const all = iterations as readonly Usage[]
  const messages = all
    .slice(all.findLastIndex(({ type }) => type === 'compaction') + 1)
    .filter(({ type }) => type === 'message')
  return [messages[0], messages.at(-1)].flatMap((usage) => (usage ? [usage] : []))
}

const inputOf = (usage: Usage): number =>
  tokensIn(usage, 'input_tokens') +
  tokensIn(usage, 'cache_read_input_tokens') +
  tokensIn(usage, 'cache_creation_input_tokens')

/** A count of a usage; 0 where it has none. */
export const tokensIn = (usage: Usage, field: string): number => {
  const { [field]: count } = usage
  return typeof count === 'number' && count > 0 ? count : 0
}
