import type { ConversationEvent } from '../../events/events.ts'
import { memo } from '../../projections/memo.ts'
import { type Effective, evolveEffective } from '../../projections/effective.ts'
import { type Slot, viewIn } from '../../projections/layout.ts'
import type { SliceGenerator } from '../../projections/slices.ts'

/**
 * The effective history at a head of a conversation, for reuse. Events before a position never change, so it stays valid after later
 * writes.
 */
export interface HistoryState {
  /** The effective history; in a remembered state, its `at` equals its `head`. */
  readonly effective: Effective
  /** Number of events on the path after the last event with a view. */
  readonly sinceView: number
  /** The slots that markers replaced, as far as known, by the position of the marker. */
  readonly replaced: ReadonlyMap<number, readonly Slot[]>
}

/** Returns the state of the history after these events; undefined if that depends on earlier events, as for a rewind or a restore. */
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

/** A memory of the last few history states of each conversation that this process wrote to. */
export interface Moments {
  /** Returns the remembered history state of a conversation at a head; undefined if it is not remembered. */
  readonly at: (conversation: string, head: number) => HistoryState | undefined
  /** Reports whether a remembered history state contains the slots that a marker replaced. */
  readonly tell: (conversation: string, marker: number) => boolean
  /** Remembers a history state, unless it is too large. */
  readonly keep: (conversation: string, moment: HistoryState) => void
  /** Does the work of `keep` in slices, because measuring a large history takes a long time. */
  readonly keeping: (conversation: string, moment: HistoryState) => SliceGenerator<void>
  readonly forget: (conversation: string) => void
}

/** Maximum number of history states remembered per conversation: the current one, and a few that an undo may return to. */
const mostOfOne = 4
/** Maximum total size of all remembered history states, in characters of JSON. */
const mostOfAll = 16 * 1024 * 1024
/** Size counted for each conversation in addition to its content, in characters of JSON. */
const each = 1_000

interface Kept {
  readonly moments: readonly HistoryState[]
  readonly size: number
}

const lengthOf = memo((one: object) => JSON.stringify(one).length)

/**
 * Returns the size of a history's content in characters of JSON. A frozen item is measured only the first time.
 *
 * @param enough limit above which measuring stops; the result is then greater than the limit
 */
export const sizeOf = ({ items, layout }: Effective, enough = Infinity): number => {
  let size = each + lengthOf(layout.configuration ?? {})
  for (const one of items) {
    if (size > enough) break
    size += lengthOf(one)
  }
  return size
}

/**
 * Returns a memory of history states that is limited by the size of their content. It drops the conversations that were updated least
 * recently.
 */
export const momentsOf = (most = mostOfAll): Moments => {
  const all = new Map<string, Kept>()
  let total = 0

  /** Returns the total size of several history states, counting each shared item once. */
  const sizeOfAll = (moments: readonly HistoryState[]): number => {
    const held = new Set(
      moments.flatMap(({ effective: { items, layout } }) => [...items, layout.configuration ?? {}]),
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
    const shown = new Set(moment.effective.layout.slots.map(({ position }) => position))
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
