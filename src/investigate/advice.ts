import type { BreakKind, CacheBreak, CountedReply } from './breaks.ts'
import { lifetimes, type Ttl } from './prompt-cache.ts'

/** Use of the cache by one call. */
export interface CacheUse extends Pick<CountedReply, 'counts'> {
  readonly ttl: Ttl
}

/** Returns advice on preserving the cache, for each kind of break that occurred. */
export const adviceOn = (breaks: readonly CacheBreak[], replies: readonly CacheUse[]): readonly string[] => {
  const isUsed = replies.some(({ counts }) => counts.cacheWrite + counts.cacheRead > 0)
  const unused = replies.length > 1 && !isUsed ? [noCache] : []
  // The advice is the same for both kinds of hiding.
  const kinds = Map.groupBy(breaks, ({ kind }) => (kind === 'truncate' ? 'condense' : kind))
  return [...unused, ...[...kinds].flatMap(([kind, all]) => adviceFor(kind, all, replies))]
}

const noCache =
  'nothing was cached: run turns with `cache: "5m"` (the default), and check that the prompt is long enough for the model to cache it'

const adviceFor = (
  kind: BreakKind,
  all: readonly CacheBreak[],
  replies: readonly CacheUse[],
): readonly string[] => {
  const times = all.length === 1 ? 'once' : `${all.length} times`
  switch (kind) {
    case 'expired': {
      const isShort = replies.some(({ ttl }) => ttl === '5m')
      const within = all.filter(({ idle }) => idle * 1_000 <= lifetimes['1h']).length
      return [
        isShort && within > 0
          ? `the cache expired ${times}, ${within} of them within an hour: cache: "1h" keeps it, at 1.6 times the price of writing it`
          : `the cache expired ${times}: no setting keeps it that long, so condense before a long pause`,
      ]
    }
    case 'tools-reordered':
      return [`the same tools were sent in a different order ${times}: sort them by name`]
    case 'tools':
      return [
        `the tools changed ${times}: they come first in the prompt, so configure all of them from the start`,
      ]
    case 'system':
      return [
        `the system prompt changed ${times}: move the parts that change (dates, states, counts) into a message at the end`,
      ]
    case 'model':
      return [
        `the model changed ${times}: each model has its own cache, so change it while the context is small`,
      ]
    case 'edit':
      return [
        `an earlier message was replaced ${times}: replace several at once, as late in the context as possible`,
      ]
    case 'parameters':
      return [
        `parameters changed ${times}: thinking and tool_choice are part of the cached prompt, so keep them unchanged`,
      ]
    case 'no-breakpoints':
      return [`a call set no breakpoints ${times}: leave \`cache\` as it is`]
    case 'condense':
    case 'truncate':
      return [
        `hiding part of the context broke the cache ${times}: condense more at once and less often (lower \`target\`), before a break rather than after`,
      ]
    case 'restore':
    case 'rewind':
    case 'repair':
    case 'unexplained':
      return []
  }
}
