import { type Block, isBlock } from '../../../events/blocks.ts'
import type { Covers } from '../../../events/events.ts'
import { type Effective, type Item, messagesOf, type SummaryItem } from '../../../projections/effective.ts'
import { limitResults, type ResultLimit, resultBytes } from './result-limit.ts'
import type { TokenCount } from '../tokens/tokens.ts'
import type { TruncationStep } from './truncation.ts'

/** Cut the results that an item shows down to this many bytes. */
export interface ResultCut {
  readonly covers: Covers
  readonly bytes: number
}

/** No result is cut to fewer bytes. */
const fewestBytes = 500

interface Shortened {
  readonly edits: readonly ResultCut[]
  readonly count: TokenCount
}

/**
 * The edits that make what cannot be hidden fit: results are cut down to half of the largest, to a quarter, and so on, no further than
 * needed. They are carried out before anything is truncated, which may change what the API's counts say, so they are tried in that order.
 *
 * @param left what is left once everything is truncated that may be
 * @param countLeft the tokens of what is then left of a history
 * @returns the edits, empty if there is nothing to cut, and the tokens of what is left with them
 */
export const shortening = (
  effective: Effective,
  left: Pick<TruncationStep, 'effective' | 'count'>,
  allowed: number,
  countLeft: (edited: Effective) => TokenCount,
): Shortened => {
  const { items } = left.effective
  const results = items.flatMap((item) => resultsIn(item) ?? [])
  const largest = results.reduce(
    (most, block) => (isBlock(block, 'tool_result') ? Math.max(most, resultBytes(block)) : most),
    0,
  )
  const stays = new Set(items.map(({ position }) => position))
  let best: Shortened = { edits: [], count: left.count }
  for (let bytes = largest / 2; bytes >= fewestBytes && best.count.total > allowed; bytes /= 2) {
    const { edits, edited } = withShort(effective, stays, Math.floor(bytes))
    best = { edits, count: countLeft(edited) }
  }
  return best
}

const withShort = (
  effective: Effective,
  stays: ReadonlySet<number>,
  bytes: number,
): { readonly edits: readonly ResultCut[]; readonly edited: Effective } => {
  const edits: ResultCut[] = []
  const items = effective.items.map((item): Item => {
    const content = stays.has(item.position) && shortResults(item, { bytes, rest: 'recorded' })
    if (!content) return item
    const covers = { first: item.position, last: item.position }
    edits.push({ covers, bytes })
    return editOf(item, content, effective.at + edits.length)
  })
  const at = effective.at + edits.length
  return { edits, edited: { ...effective, items, at, head: at } }
}

/** What an item shows with its results cut down; undefined if there is nothing to cut. */
export const shortResults = (item: Item, limit: ResultLimit): readonly Block[] | undefined => {
  const content = resultsIn(item)
  return content && limitResults(content, limit)
}

/** The content of a message with results, as it was said or edited. */
const resultsIn = (item: Item): readonly Block[] | undefined => {
  const [message, ...others] = messagesOf(item)
  const isOne = message?.role === 'user' && others.length === 0
  return isOne && message.content.some(({ type }) => type === 'tool_result') ? message.content : undefined
}

const editOf = (item: Item, content: readonly Block[], position: number): SummaryItem => ({
  kind: 'summary',
  position,
  time: item.time,
  messages: [{ role: 'user', content }],
  covers: { first: item.position, last: item.position },
  messagesHidden: 1,
  tokens: { before: 0, after: 0 },
  method: 'client',
})
