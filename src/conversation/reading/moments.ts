import type { ConversationEvent } from '../../events/events.ts'
import { memo } from '../../projections/memo.ts'
import { type Effective, evolveEffective } from '../../projections/effective.ts'
import { type Slot, viewIn } from '../../projections/outline.ts'
import type { SliceGenerator } from '../../projections/slices.ts'

/**
 * The history shown at the head of a conversation. Events before a position never change, so a moment remains valid despite later
 * writes.
 */
export interface HistoryState {
  /** Its `at` equals its `head`. */
  readonly effective: Effective
  /** Number of events on the path after the last one that carries a view. */
  readonly sinceView: number
  /** The slots that markers replaced, as far as known, by position of the marker. */
  readonly replaced: ReadonlyMap<number, readonly Slot[]>
}

/** Returns the moment after these events; undefined if earlier events are needed, as for a rewind or a restore. */
export const momentAfter = (
  { effective, sinceView, replaced }: HistoryState,
  events: readonly ConversationEvent[],
): HistoryState | undefined => {
  const hidden = new Map(replaced)
  const after = evolveEffective(
    effective,
    events,
    ({ position }, slots) => slots && hidden.set(position, slots),
  )
  const viewed = events.findLastIndex((event) => viewIn(event) !== undefined)
  return (
    after && {
      effective: after,
      sinceView: viewed < 0 ? sinceView + events.length : events.length - 1 - viewed,
      replaced: hidden,
    }
  )
}

/** The last few moments of each conversation that this process wrote to. */
export interface Moments {
  /** Returns the moment of a conversation whose head is `head`, if remembered. */
  readonly at: (conversation: string, head: number) => HistoryState | undefined
  /** Reports whether one of them records what a marker replaced. */
  readonly tell: (conversation: string, marker: number) => boolean
  /** Keeps a moment, unless it is too large. */
  readonly keep: (conversation: string, moment: HistoryState) => void
  /** Like `keep`, in slices: measuring a large moment takes long. */
  readonly keeping: (conversation: string, moment: HistoryState) => SliceGenerator<void>
  readonly forget: (conversation: string) => void
}

/** Moments kept per conversation: one to build on, and those that an undo returns to. */
const mostOfOne = 4
/** Maximum size of all moments together, in characters of JSON. */
const mostOfAll = 16 * 1024 * 1024
/** Base size of a conversation, in addition to what it shows, in characters of JSON. */
const each = 1_000

interface Kept {
  readonly moments: readonly HistoryState[]
  readonly size: number
}

const lengthOf = memo((one: object) => JSON.stringify(one).length)

/**
 * Returns the size of a history's content in characters of JSON. Frozen items are measured once.
 *
 * @param enough limit at which measuring stops: the result is then greater than this
 */
export const sizeOf = ({ items, outline }: Effective, enough = Infinity): number => {
  let size = each + lengthOf(outline.configuration ?? {})
  for (const one of items) {
    if (size > enough) break
    size += lengthOf(one)
  }
  return size
}

/** Returns a bounded store of moments, limited by content size: it keeps the conversations used last. */
export const momentsOf = (most = mostOfAll): Moments => {
  const all = new Map<string, Kept>()
  let total = 0

  /** Returns the size of several moments, counting an item that they share once. */
  const sizeOfAll = (moments: readonly HistoryState[]): number => {
    const held = new Set(
      moments.flatMap(({ effective: { items, outline } }) => [...items, outline.configuration ?? {}]),
    )
    let size = each
    for (const one of held) size += lengthOf(one)
    return size
  }

  const forget = (conversation: string): void => {
    total -= all.get(conversation)?.size ?? 0
    all.delete(conversation)
  }

  const keep: Moments['keep'] = (conversation, moment) => {
    if (sizeOf(moment.effective, most) > most) return forget(conversation)
    const others = all
      .get(conversation)
      ?.moments.filter(({ effective }) => effective.head !== moment.effective.head)
    const shown = new Set(moment.effective.outline.slots.map(({ position }) => position))
    const replaced = new Map([...moment.replaced].filter(([marker]) => shown.has(marker)))
    const moments = [...(others ?? []), { ...moment, replaced }].slice(-mostOfOne)
    forget(conversation)
    const size = sizeOfAll(moments)
    all.set(conversation, { moments, size })
    total += size
    for (const [oldest] of all) {
      if (total <= most) break
      forget(oldest)
    }
  }

  return {
    at: (conversation, head) =>
      all.get(conversation)?.moments.find(({ effective }) => effective.head === head),
    tell: (conversation, marker) =>
      all.get(conversation)?.moments.some(({ replaced }) => replaced.has(marker)) === true,
    keep,
    keeping: function* (conversation, moment) {
      let size = 0
      for (const item of moment.effective.items) {
        size += lengthOf(item)
        if (size > most) break
        yield
      }
      keep(conversation, moment)
    },
    forget,
  }
}
