import { effective, type Item, itemIn } from '../../../projections/effective.ts'
import { full, type EntryStatus } from '../../../projections/full.ts'
import { lastOf, type Log } from '../../../projections/path.ts'
import { measure } from './measure.ts'
import { countTokens, type ItemTokens, type TokenCount } from './tokens.ts'

/** Item of the full history with its tokens, at present or when the item was last shown. */
export interface EntryTokens extends ItemTokens {
  readonly kind: Item['kind']
  readonly status: EntryStatus
}
/** Tokens saved by a condense. */
export interface CondenseSavings {
  readonly marker: number
  /** Tokens of the items that the condense hid; `after` is the count for its summary. */
  readonly before: number
  readonly after: number
  readonly saved: number
}
/** Token counts of a conversation's next request and of every item on the path, and the tokens saved by each condense on the path. */
export interface HistoryTokens extends Omit<TokenCount, 'items'> {
  readonly items: readonly EntryTokens[]
  readonly condensed: readonly CondenseSavings[]
}

/**
 * Counts the tokens of a log at its end. Also uses the recorded usage of replies that are now hidden.
 *
 * @param toItem converts an event to an item, as for `full`
 */
export const historyTokens = (log: Log, toItem = itemIn): HistoryTokens => {
  const now = effective(log)
  const count = countTokens(now)
  const entries = full(log, {}, toItem)
  // The markers among the entries show which replies had the same beginning, regardless of where their slices were.
  const { tokens } = measure({ ...now, at: lastOf(log), items: entries }, 0)
  const shown = new Map(count.items.map((item) => [item.position, item.tokens]))
  const items = entries.map(({ position, kind, status }, index) => {
    return { position, kind, status, tokens: shown.get(position) ?? tokens[index] ?? 0 }
  })
  const tokensAt = new Map(items.map((item) => [item.position, item.tokens]))
  const hidden = Map.groupBy(entries, ({ by }) => by)
  const condensed = entries.flatMap(({ kind, status, position: marker }) => {
    if (kind !== 'summary' || status === 'restored') return []
    const covered = hidden.get(marker) ?? []
    const before = covered.reduce((sum, { position }) => sum + (tokensAt.get(position) ?? 0), 0)
    const after = tokensAt.get(marker) ?? 0
    return [{ marker, before, after, saved: before - after }]
  })
  return { ...count, items, condensed }
}
