import type { ConversationEvent } from '../../events/events.ts'
import { memo } from '../../projections/memo.ts'
import { type Effective, evolved } from '../../projections/effective.ts'
import { type Slot, viewIn } from '../../projections/outline.ts'
import type { SliceGenerator } from '../../projections/slices.ts'

/**
 * What is shown where a conversation stands. What comes before a position never changes, so a moment stays true, whoever writes
 * after it.
 */
export interface HistoryState {
  /** `at` is its `head`. */
  readonly effective: Effective
  /** Events of the path after the last one that carries a view. */
  readonly sinceView: number
  /** What markers replaced, as far as that is known. */
  readonly replaced: ReadonlyMap<number, readonly Slot[]>
}

/** The moment once these events have come after it; undefined where that takes a look further back: a rewind, or a restore. */
export const momentAfter = (
  { effective, sinceView, replaced }: HistoryState,
  events: readonly ConversationEvent[],
): HistoryState | undefined => {
  const hidden = new Map(replaced)
  const after = evolved(effective, events, ({ position }, slots) => slots && hidden.set(position, slots))
  const viewed = events.findLastIndex((event) => viewIn(event) !== undefined)
  return (
    after && {
      effective: after,
      sinceView: viewed < 0 ? sinceView + events.length : events.length - 1 - viewed,
      replaced: hidden,
    }
  )
}

/** The moments of conversations that this process wrote to, the last few of each. */
export interface Moments {
  /** The moment of a conversation that stands at `head`, if it is remembered. */
  readonly at: (conversation: string, head: number) => HistoryState | undefined
  /** Whether one of them tells what a marker replaced. */
  readonly tell: (conversation: string, marker: number) => boolean
  /** Keeps a moment, unless it is too large. */
  readonly keep: (conversation: string, moment: HistoryState) => void
  /** `keep`, in slices: measuring a large one takes long. */
  readonly keeping: (conversation: string, moment: HistoryState) => SliceGenerator<void>
  readonly forget: (conversation: string) => void
}

/** One to build on, and those that an undo leads back to. */
const mostOfOne = 4
/** Characters of JSON of all moments together. */
const mostOfAll = 16 * 1024 * 1024
/** What a conversation counts besides what it shows. */
const each = 1_000

interface Kept {
  readonly moments: readonly HistoryState[]
  readonly size: number
}

const lengthOf = memo((one: object) => JSON.stringify(one).length)

/**
 * How much a history shows, in characters of JSON. Frozen items are measured once.
 *
 * @param enough where it stops: what is returned is more than that, then
 */
export const sizeOf = ({ items, outline }: Effective, enough = Infinity): number => {
  let size = each + lengthOf(outline.configuration ?? {})
  for (const one of items) {
    if (size > enough) break
    size += lengthOf(one)
  }
  return size
}

/** Remembers a bounded number of moments, by what they hold: the conversations that were used last. */
export const momentsOf = (most = mostOfAll): Moments => {
  const all = new Map<string, Kept>()
  let total = 0

  /** Items are shared by the moments that show them. */
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
