import type { Covers, Segment } from '../events/events.ts'
import type { EventKind } from '../projections/columns.ts'
import type { Facts } from './facts.ts'
import {
  correctionOf,
  type TokenMeter,
  type MeteredMessage,
  promptOf,
  withoutCount,
  withoutReply,
} from './meter.ts'
import { sliceShown, isMarker, show, type ShownSegments } from './shown-segments.ts'
import type { TokenSum, HiddenTally } from './tally.ts'

// The content shown at any position, derived from the marks: the few events that change more than the end of the effective history.
// Most marks store only their change. Some also store all shown segments: often enough that few marks are read before such a mark is
// reached, and rarely enough that the segments take about a kilobyte per mark. A restore always stores them; otherwise, chains of
// restores would have to be followed.

/** Indexed mark: an event that changes more than the end of the effective history. */
export interface ContextMark {
  readonly position: number
  readonly kind: EventKind
  readonly target: number
  /** Slice that the mark covers, if it is a marker that hides anything. */
  readonly covers: Covers | undefined
  /** Tokens that the mark adds to the context, and the estimate that a marker records of the hidden content. */
  readonly own: number
  readonly before: number
  /** Number of marks to go back to reach a mark with stored contents; 0 if this mark has stored contents. */
  readonly since: number
}

/** Indexed past of a conversation before an event. */
export interface ContextPast {
  /** Returns the last mark at or before a position. */
  readonly markThrough: (position: number) => ContextMark | undefined
  readonly mark: (position: number) => ContextMark | undefined
  /** Returns the segments shown after a mark whose contents are stored. */
  readonly shownAfter: (mark: ContextMark) => ShownSegments
  readonly isMessage: (position: number) => boolean
  /** Returns the tokens of the context right after a position, and the meter there. */
  readonly tokensAt: (position: number) => number
  readonly meterAt: (position: number) => TokenMeter
  /** Returns the last reply with a usage in a range, if it is not far from the end of the range. */
  readonly lastReplyIn: (first: number, last: number) => CountedMessage | undefined
  readonly sumOf: (segments: readonly Segment[]) => TokenSum
}

/** A reply with a usage: its last position, its first, and the tokens of its input. */
export interface CountedMessage {
  readonly position: number
  readonly from: number
  readonly input: number
}

/** Changes that a mark makes to the context, with tokens and meter after it. */
export interface MarkChange extends Pick<ContextMark, 'since'>, MeteredMessage {
  /** Segments shown after the mark, if they are to be stored with it. */
  readonly shown?: ShownSegments
  /** Tally of the content that the mark hides, if it hides anything. */
  readonly hides?: HiddenTally
}

/**
 * Returns the changes that a mark makes. Never fails: if the slice of a marker is not shown, the marker hides nothing.
 *
 * @param now tokens and meter before the mark
 */
export const turnOf = (
  past: ContextPast,
  now: Pick<MeteredMessage, 'tokens' | 'meter'>,
  facts: Facts,
): MarkChange => {
  const { tokens, meter } = now
  const { kind } = facts
  const from = before(facts)
  const last = past.markThrough(from)
  const same = { tokens, meter, own: 0, since: (last?.since ?? 0) + 1 }
  if (kind === 'K') return passed(past, configure(same, facts), facts)
  if (kind === 'W')
    return passed(past, { ...same, tokens: past.tokensAt(from), meter: past.meterAt(from) }, facts)
  const turn = kind === 'R' ? restore(past, same, facts) : hide(past, same, facts)
  return turn ?? passed(past, same, facts)
}

const configure = (same: MarkChange, { estimated }: Facts): MarkChange => {
  const { tokens, meter } = same
  if (estimated === (meter.prompt ?? 0)) return estimated > 0 ? same : { ...same, meter: withoutReply(meter) }
  const next = withoutCount({ ...meter, prompt: estimated > 0 ? estimated : undefined }, 0)
  return { ...same, meter: next, tokens: tokens - promptOf(meter) + promptOf(next) }
}

/** Returns the position whose context a mark changes: the target of a rewind, or the position before any other mark. */
const before = ({ position, kind, target = -1 }: Pick<Facts, 'position' | 'kind' | 'target'>): number => {
  if (kind !== 'W') return position - 1
  return target < position ? target : -1
}

const hide = (past: ContextPast, same: MarkChange, facts: Facts): MarkChange | undefined => {
  const { position, estimated, covers = none } = facts
  const shown = shownAt(past, position - 1)
  const parts = cutIn(past, shown, covers)
  if (!parts) return undefined
  const { tokens, ...hides } = past.sumOf(parts.slice)
  parts.replace([{ marker: position }])
  const { meter } = same
  const own = Math.round(correctionOf(meter) * estimated)
  // A reply before the slice still describes what is shown.
  const isCounted = meter.countedAt >= 0 && meter.countedAt < covers.first
  const next = isCounted
    ? withoutReply(meter)
    : withoutCount(meter, meter.prompt === undefined ? besideIn(past, shown, { facts, own, meter }) : 0)
  const turn = {
    ...same,
    own,
    meter: next,
    tokens: same.tokens - tokens + own - promptOf(meter) + promptOf(next),
    hides,
  }
  return withContents(turn, shown)
}
/**
 * Returns the tokens of a prompt that no event records, after a marker, as `countTokens` finds them: what the last reply with a usage, or
 * the summary's own record, says of the context, without the items before it.
 */
const besideIn = (
  past: ContextPast,
  shown: ShownSegments,
  { facts, own, meter }: { readonly facts: Facts; readonly own: number; readonly meter: TokenMeter },
): number => {
  const correction = correctionOf(meter)
  const { position: marker, before: hidden = 0, context = 0 } = facts
  let found: CountedMessage | undefined
  let index = shown.length
  while (!found && index-- > 0) {
    const segment = shown[index]
    if (segment && !isMarker(segment)) found = past.lastReplyIn(segment.first, segment.last)
  }
  if (!found && (facts.kind !== 'C' || context === 0)) return 0
  const segment = shown[index]
  const items: Segment[] = found ? shown.slice(0, index) : [...shown]
  if (found && segment && !isMarker(segment) && found.from > segment.first)
    items.push({ first: segment.first, last: found.from - 1 })
  const since = found?.position ?? marker
  let sum = past.sumOf(items.filter((item) => !isMarker(item) || item.marker !== marker)).tokens
  for (const item of items) {
    if (!isMarker(item) || item.marker < since) continue
    const mark = item.marker === marker ? { own, before: hidden } : past.mark(item.marker)
    if (mark) sum += Math.round(correction * mark.before) - (item.marker === marker ? 0 : mark.own)
  }
  return Math.max(0, (found?.input ?? context) - sum)
}

const none: Covers = { first: -1, last: -1 }

const restore = (
  past: ContextPast,
  same: MarkChange,
  { position, target = -1 }: Facts,
): MarkChange | undefined => {
  const covers = target < position ? past.mark(target)?.covers : undefined
  if (!covers) return undefined
  const shown = shownAt(past, position - 1)
  const marker = sliceShown(shown, { first: target, last: target })
  const hidden = marker?.slice.every(isMarker) && sliceShown(shownAt(past, target - 1), covers)
  if (!marker || !hidden) return undefined
  const { meter } = same
  const then = past.meterAt(target - 1)
  // What was counted before the marker describes the content again.
  const next = {
    ...withoutReply(meter),
    beside: then.prompt === meter.prompt ? then.beside : 0,
    countedAt: then.countedAt,
  }
  const items = past.sumOf(hidden.slice).tokens - past.sumOf(marker.slice).tokens
  const tokens = same.tokens + items - promptOf(meter) + promptOf(next)
  marker.replace(hidden.slice)
  return { ...same, meter: next, tokens, since: 0, shown }
}

/**
 * Returns the change made by a mark that replaces no segment. Occasionally adds stored contents, to limit the number of successive
 * marks without contents.
 */
const passed = (past: ContextPast, turn: MarkChange, facts: Facts): MarkChange => {
  const { since } = turn
  if (since < fewest || (since & (since - 1)) > 0) return turn
  const shown = shownAt(past, before(facts))
  if (facts.kind !== 'W') show(shown, facts.position, facts.position)
  return withContents(turn, shown)
}
/** Minimum number of successive marks without stored contents, even if few segments are shown. */
const fewest = 64

const withContents = (turn: MarkChange, shown: ShownSegments): MarkChange =>
  turn.since >= Math.min(shown.length, fewest + shown.length / fewest) ? { ...turn, since: 0, shown } : turn

/**
 * Returns a slice if its first and last positions are shown. A run of messages may include positions of other events, which are not
 * shown.
 */
const cutIn = (past: ContextPast, shown: ShownSegments, covers: Covers) => {
  const parts = sliceShown(shown, covers)
  const [first, last] = [parts?.slice[0], parts?.slice.at(-1)]
  if (!parts || !first || !last) return undefined
  const isEndShown = (segment: Segment, position: number): boolean =>
    isMarker(segment) || past.isMessage(position)
  return isEndShown(first, covers.first) && isEndShown(last, covers.last) ? parts : undefined
}

/**
 * Returns the segments shown right after a position. Goes back to the latest mark whose contents are stored, then applies the later
 * marks in order.
 */
const shownAt = (past: ContextPast, position: number): ShownSegments => {
  const steps: { readonly mark: ContextMark | undefined; readonly last: number }[] = []
  let shown: ShownSegments = []
  for (let last = position; ;) {
    const mark = past.markThrough(last)
    steps.push({ mark, last })
    if (mark?.since === 0) shown = past.shownAfter(mark)
    if (!mark || mark.since === 0) break
    last = before(mark)
  }
  for (const { mark, last } of steps.toReversed()) {
    if (mark && mark.since > 0) evolve(shown, mark)
    show(shown, mark ? mark.position + 1 : 0, last)
  }
  return shown
}

/** Applies a mark whose contents are not stored. A restore has stored contents unless it restores nothing. */
const evolve = (shown: ShownSegments, { position, kind, covers }: ContextMark): void => {
  if (covers) sliceShown(shown, covers)?.replace([{ marker: position }])
  // The mark itself is not shown, so the positions before and after it remain one run.
  else if (kind !== 'W') show(shown, position, position)
}
