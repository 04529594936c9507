import type { Log } from '../projections/path.ts'
import type { Prices } from '../agent/models/prices.ts'
import { countsIn, inputOf } from '../agent/models/usage.ts'
import { adviceOn, type CacheUse } from './advice.ts'
import { breakBetween, type CacheBreak, type CountedReply } from './breaks.ts'
import { ttlOf } from './prompt-cache.ts'
import { historiesOf } from './histories.ts'
import { repliesIn } from './replies.ts'
import { type ResumeCost, resumeCostAt } from './resume-cost.ts'

/** Use of the prompt cache in a conversation. */
export interface CacheReport {
  readonly conversation: string
  /** Numbers of replies with recorded usage (`calls`) and without (`uncounted`). Replies without recorded usage cannot be analyzed. */
  readonly calls: number
  readonly uncounted: number
  /** Number of calls inherited by a fork. They are analyzed for the parent only. */
  readonly inherited: number
  /** Total input tokens of all calls, and the number of these tokens read from the cache. */
  readonly input: number
  readonly read: number
  readonly breaks: readonly CacheBreak[]
  /** Cost of making the next call now; absent if no calls were analyzed. */
  readonly resuming?: ResumeCost
  readonly advice: readonly string[]
}

/**
 * Analyzes the prompt cache of a log.
 *
 * @param now milliseconds since 1970
 */
export const cacheReport = (conversation: string, log: Log, prices: Prices, now: number): CacheReport => {
  const replies = repliesIn(log)
  const forked = log.findLast(({ type }) => type === 'Forked')?.position ?? -1
  const isOwn = ({ position }: { readonly position: number }): boolean => position > forked
  const historyAt = historiesOf(log)
  const own: CacheUse[] = []
  const breaks: CacheBreak[] = []
  let last: CountedReply | undefined
  for (const reply of replies) {
    const { number, position, at, parts, origin, receipt, asked, answered } = reply
    const counts = countsIn(origin.usage)
    // A reply that was aborted early may have a usage without any input.
    if (inputOf(counts) === 0) continue
    const before = last
    last = { number, position, at, parts, origin, receipt, asked, answered, counts }
    if (!isOwn(reply)) continue
    own.push({ counts, ttl: ttlOf(last) })
    const found = before && breakBetween(before, last, { log, prices, historyAt })
    if (found) breaks.push(found)
  }
  const resuming = last && resumeCostAt(log, last, prices, now)
  const read = own.reduce((sum, { counts }) => sum + counts.cacheRead, 0)
  const input = own.reduce((sum, { counts }) => sum + inputOf(counts), 0)
  const report = {
    conversation,
    calls: own.length,
    uncounted: replies.filter(isOwn).length - own.length,
    inherited: replies.filter((reply) => !isOwn(reply)).length,
    input,
    read,
    breaks,
  }
  return { ...report, ...(resuming && { resuming }), advice: adviceOn(breaks, own) }
}
