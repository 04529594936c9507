import { type Block, isBlock } from '../../../events/blocks.ts'
import type { Covers } from '../../../events/events.ts'
import { type Effective, type Item, messagesOf, type SummaryItem } from '../../../projections/effective.ts'
import { limitResults, type ResultLimit, resultBytes } from './result-limit.ts'
import type { TokenCount } from '../tokens/tokens.ts'
import type { TruncationResult } from './truncation.ts'

/** Edit that shortens each tool result of an item to at most `bytes` bytes. */
export interface ResultCut {
  readonly covers: Covers
  readonly bytes: number
}

/** Minimum size of a shortened result, in bytes. */
const fewestBytes = 500

interface Shortened {
  readonly edits: readonly ResultCut[]
  readonly count: TokenCount
}

/**
 * Plans edits that shorten tool results in the items that may not be hidden: to half the size of the largest result, then to a quarter,
 * and so on, until the context fits. The edits are written before the truncations and counted in that order, because a truncation may
 * change which of the API's counts still apply.
 *
 * @param left the history after everything that may be truncated has been truncated
 * @param countLeft counts the tokens of an edited history after the same truncations
 * @returns the edits, empty if there is nothing to shorten, and the remaining tokens
 */
export const planShortening = (
  effective: Effective,
  left: Pick<TruncationResult, 'effective' | 'count'>,
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

/** Returns an item's content with shortened results; undefined if nothing can be shortened. */
export const shortResults = (item: Item, limit: ResultLimit): readonly Block[] | undefined => {
  const content = resultsIn(item)
  return content && limitResults(content, limit)
}

/** Returns the content of an item that is a user message with tool results, as appended or as edited; undefined for other items. */
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
