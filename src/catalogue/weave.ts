import type { Covers, Segment } from '../events/events.ts'
import type { EventKind } from '../projections/columns.ts'
import type { Facts } from './facts.ts'
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
  /** Estimated tokens of the system prompt and the tools after the mark. */
  readonly prompt: number
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
  /** Returns the estimated tokens of the context right after a position. */
  readonly tokensAt: (position: number) => number
  readonly sumOf: (segments: readonly Segment[]) => TokenSum
}

/** Changes that a mark makes to the context. */
export interface MarkChange extends Pick<ContextMark, 'prompt' | 'since'> {
  /** Estimated tokens of the context after the mark. */
  readonly tokens: number
  /** Segments shown after the mark, if they are to be stored with it. */
  readonly shown?: ShownSegments
  /** Tally of the content that the mark hides, if it hides anything. */
  readonly hides?: HiddenTally
}

/**
 * Returns the changes that a mark makes. Never fails: if the slice of a marker is not shown, the marker hides nothing.
 *
 * @param tokens estimated tokens of the context before the mark
 */
export const turnOf = (past: ContextPast, tokens: number, facts: Facts): MarkChange => {
  const { kind, own } = facts
  const from = before(facts)
  const last = past.markThrough(from)
  const same = { tokens, prompt: last?.prompt ?? 0, since: (last?.since ?? 0) + 1 }
  if (kind === 'K') return passed(past, { ...same, tokens: tokens - same.prompt + own, prompt: own }, facts)
  if (kind === 'W') return passed(past, { ...same, tokens: past.tokensAt(from) }, facts)
  const turn = kind === 'R' ? restore(past, same, facts) : hide(past, same, facts)
  return turn ?? passed(past, same, facts)
}

/** Returns the position whose context a mark changes: the target of a rewind, or the position before any other mark. */
const before = ({ position, kind, target = -1 }: Pick<Facts, 'position' | 'kind' | 'target'>): number => {
  if (kind !== 'W') return position - 1
  return target < position ? target : -1
}

const hide = (
  past: ContextPast,
  same: MarkChange,
  { position, own, covers = none }: Facts,
): MarkChange | undefined => {
  const shown = shownAt(past, position - 1)
  const parts = cutIn(past, shown, covers)
  if (!parts) return undefined
  const { tokens, ...hides } = past.sumOf(parts.slice)
  parts.replace([{ marker: position }])
  const turn = { ...same, tokens: same.tokens - tokens + own, hides }
  return withContents(turn, shown)
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
  const tokens = same.tokens - past.sumOf(marker.slice).tokens + past.sumOf(hidden.slice).tokens
  marker.replace(hidden.slice)
  return { ...same, tokens, since: 0, shown }
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
