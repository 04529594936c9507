import { type Block, isBlock } from '../../events/blocks.ts'
import type { Covers } from '../../events/events.ts'
import { type Effective, type Item, messagesOf, type SummaryItem } from '../../projections/effective.ts'
import { limitResults, type ResultLimit, resultBytes } from './result-limit.ts'
import { countTokens, type TokenCount } from '../tokens/tokens.ts'

/** Cut the results that an item shows down to this many bytes. */
export interface Shortening {
  readonly covers: Covers
  readonly bytes: number
}

/** No result is cut to fewer bytes. */
const fewestBytes = 500

/**
 * The edits that make what cannot be hidden fit: results are cut down to half of the largest, to a quarter, and so on, no further than
 * needed.
 *
 * @param effective with everything truncated that may be
 * @returns the edits, empty if there is nothing to cut, and the tokens of the context with them
 */
export const shortening = (
  effective: Effective,
  allowed: number,
): { readonly edits: readonly Shortening[]; readonly count: TokenCount } => {
  const results = effective.items.flatMap((item) => resultsIn(item) ?? [])
  const largest = results.reduce(
    (most, block) => (isBlock(block, 'tool_result') ? Math.max(most, resultBytes(block)) : most),
    0,
  )
  let best = { edits: [] as readonly Shortening[], count: countTokens(effective) }
  for (let bytes = largest / 2; bytes >= fewestBytes && best.count.total > allowed; bytes /= 2)
    best = shortened(effective, Math.floor(bytes))
  return best
}

const shortened = (
  effective: Effective,
  bytes: number,
): { readonly edits: readonly Shortening[]; readonly count: TokenCount } => {
  const edits: Shortening[] = []
  const items = effective.items.map((item): Item => {
    const content = shortResults(item, { bytes, rest: 'recorded' })
    if (!content) return item
    const covers = { first: item.position, last: item.position }
    edits.push({ covers, bytes })
    return editOf(item, content, effective.at + edits.length)
  })
  const at = effective.at + edits.length
  return { edits, count: countTokens({ ...effective, items, at, head: at }) }
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
