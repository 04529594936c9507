import { START } from '../events/events.ts'
import type { KnownState, LaneItem } from './lane.ts'
import type { MessageKeys } from './message-keys.ts'

/** Names of the ways in which a history leads to the next request. */
export type PlanLabel = 'append' | 'repeat' | 'rewind' | 'edit' | 'condense' | 'truncate'

/** Items to hide, from index `from` to index `to` (exclusive) of the history that is continued. */
export interface PlannedMarker {
  readonly from: number
  readonly to: number
  /** Index of the message of the request that takes their place; absent if none does. */
  readonly message?: number
}

/** Changes that make a history equal to the messages of a request. */
export interface RecordPlan {
  readonly label: PlanLabel
  /** Position to rewind to first. */
  readonly rewindTo?: number
  /** Markers by ascending index; they do not overlap. */
  readonly markers: readonly PlannedMarker[]
  /** Index of the first message to append. */
  readonly append: number
}

/** Data from which a plan is made. */
export interface PlanBasis {
  readonly items: readonly LaneItem[]
  readonly itemsAt: (position: number) => readonly LaneItem[]
  /** The state of the log with the longest beginning of the request. */
  readonly known: KnownState
  /** Reports whether a text of the request's messages, from this index on, stands for what the history has said. */
  readonly isSummary: (from: number) => boolean
}

type Wanted = readonly MessageKeys[]

/** Number of messages that an earlier state must have in common with the request beyond the present one to be preferred. */
const enough = 4

/** Plans the changes that lead from a history to a request. The plan is a guess until it is folded and compared. */
export const planOf = (basis: PlanBasis, wanted: Wanted): RecordPlan => {
  const { items, itemsAt, known, isSummary } = basis
  const here = align(items, wanted)
  if (here.item === items.length) return continued(here, wanted)
  const back: RecordPlan = { label: 'rewind', rewindTo: known.position, markers: [], append: known.messages }
  const rest = wanted.slice(here.message)
  const isShorter = rest.length === 0
  const pairs = isShorter ? [] : survivorsOf(items, wanted, here)
  if (pairs.length === 0) {
    if (!isShorter && isSummary(here.message)) return condenseAll(here, items)
    if (known.messages >= here.message || isShorter)
      return known.messages === here.message ? back : deeper(back, itemsAt, wanted)
    // No state of the log has this list, but the history has after its last items are left out.
    return { ...cutTail(here, items), append: here.message }
  }
  if (known.messages > here.message + enough) return deeper(back, itemsAt, wanted)
  return replaceRuns(here, items, wanted, pairs) ?? back
}

/** The last resort: an empty history to which everything is appended. */
export const startOver: RecordPlan = { label: 'rewind', rewindTo: START, markers: [], append: 0 }

/** Extent to which a history and a request agree, and the items that the request shows with other content. */
interface Alignment {
  /** Number of items. */
  readonly item: number
  /** Number of messages. */
  readonly message: number
  readonly edits: readonly PlannedMarker[]
}

const align = (items: readonly LaneItem[], wanted: Wanted): Alignment => {
  const edits: PlannedMarker[] = []
  let message = 0
  let item = 0
  for (; item < items.length; item++) {
    const shown = items[item]?.messages ?? []
    const isSame = shown.every(({ key }, index) => key === wanted[message + index]?.key)
    if (!isSame) {
      const [only, ...others] = shown
      if (!only || others.length > 0 || only.anchor !== wanted[message]?.anchor) break
      edits.push({ from: item, to: item + 1, message })
    }
    message += shown.length
  }
  return { item, message, edits }
}

const continued = ({ message, edits }: Alignment, wanted: Wanted): RecordPlan => ({
  label: edits.length > 0 ? 'edit' : message === wanted.length ? 'repeat' : 'append',
  markers: edits,
  append: message,
})

/** Adds to a rewind the edits of the history that it returns to. */
const deeper = (back: RecordPlan, itemsAt: PlanBasis['itemsAt'], wanted: Wanted): RecordPlan => {
  const items = itemsAt(back.rewindTo ?? START)
  const there = align(items, wanted)
  return there.item === items.length ? { ...back, markers: there.edits, append: there.message } : back
}

const condenseAll = ({ item, message, edits }: Alignment, items: readonly LaneItem[]): RecordPlan => ({
  label: 'condense',
  markers: [...edits, { from: item, to: items.length, message }],
  append: message + 1,
})

const cutTail = ({ item, edits }: Alignment, items: readonly LaneItem[]) => ({
  label: 'truncate' as const,
  markers: [...edits, { from: item, to: items.length }],
})

/** An item that the request still shows, and the message that shows it. */
type Pair = readonly [item: number, message: number]

/** Finds items after the agreement that the request still shows, in order. */
const survivorsOf = (items: readonly LaneItem[], wanted: Wanted, here: Alignment): readonly Pair[] => {
  const places = new Map<string, number[]>()
  for (let index = here.message; index < wanted.length; index++) {
    const one = wanted[index]
    if (!one?.isDistinct) continue
    const known = places.get(one.anchor)
    if (known) known.push(index)
    else places.set(one.anchor, [index])
  }
  const pairs: Pair[] = []
  let next = here.message
  for (let index = here.item; index < items.length; index++) {
    const [only, ...others] = items[index]?.messages ?? []
    if (!only?.isDistinct || others.length > 0) continue
    const message = places.get(only.anchor)?.find((place) => place >= next)
    if (message === undefined) continue
    pairs.push([index, message])
    next = message + 1
  }
  return pairs
}

/** Plans a marker for each run of items that the request shows no more, or otherwise; undefined if a run becomes longer. */
const replaceRuns = (
  here: Alignment,
  items: readonly LaneItem[],
  wanted: Wanted,
  pairs: readonly Pair[],
): RecordPlan | undefined => {
  const markers: PlannedMarker[] = [...here.edits]
  let [item, message] = [here.item, here.message]
  let [isCut, isCondensed] = [false, false]
  for (const [nextItem, nextMessage] of pairs) {
    const hidden = nextItem - item
    const shown = nextMessage - message
    if (hidden < shown) return undefined
    if (hidden > 0) {
      if (shown === 0) isCut = true
      else if (hidden > shown) isCondensed = true
      markers.push(...runOf(item, nextItem, message, shown))
    }
    const isEdited = items[nextItem]?.messages[0]?.key !== wanted[nextMessage]?.key
    if (isEdited) markers.push({ from: nextItem, to: nextItem + 1, message: nextMessage })
    ;[item, message] = [nextItem + 1, nextMessage + 1]
  }
  if (item < items.length) {
    isCut = true
    markers.push({ from: item, to: items.length })
  }
  const label = isCondensed ? 'condense' : isCut ? 'truncate' : 'edit'
  return { label, markers, append: message }
}

/** Plans the markers with which a number of messages take the place of at least as many items. */
const runOf = (from: number, to: number, message: number, shown: number): readonly PlannedMarker[] => {
  if (shown === 0) return [{ from, to }]
  const first = to - shown + 1
  const each = Array.from({ length: shown - 1 }, (_, index) => ({
    from: first + index,
    to: first + index + 1,
    message: message + index + 1,
  }))
  return [{ from, to: first, message }, ...each]
}
