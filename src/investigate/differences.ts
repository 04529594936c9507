import type { Role } from '../events/event-types.ts'
import type { Effective, Item } from '../projections/effective.ts'
import { messageIn } from '../projections/effective.ts'
import type { Entry } from '../projections/full.ts'
import { lastOf, type Log } from '../projections/path.ts'
import { markerKind } from './cause.ts'
import { rewindsBetween } from './rewinds.ts'

/** Reason why an item appeared or disappeared. */
export type Because = 'message' | 'condense' | 'edit' | 'truncate' | 'restore' | 'rewind'

/** An item shown in only one of two consecutive calls. */
export interface Difference {
  readonly change: 'appeared' | 'disappeared'
  readonly position: number
  readonly kind: Item['kind']
  /** Role of the message; absent if the item is not a message. */
  readonly role?: Role
  readonly tokens: number
  readonly because: Because
  /** Position of the event that caused the difference. */
  readonly event: number
}

/** An effective history, with the status of every message and marker. */
export interface HistorySnapshot {
  readonly effective: Effective
  readonly entries: readonly Entry[]
  readonly entryAt: (position: number) => Entry | undefined
  readonly tokensAt: (position: number) => number
}

/**
 * Compares the items shown in two calls. Items that disappeared come first, in the order of the earlier call, then new items in the
 * order of the later call.
 */
export const differences = (
  log: Log,
  before: HistorySnapshot,
  after: HistorySnapshot,
): readonly Difference[] => {
  const seen = new Set(before.effective.items.map(({ position }) => position))
  const sees = new Set(after.effective.items.map(({ position }) => position))
  const gone = before.effective.items.filter(({ position }) => !sees.has(position))
  const come = after.effective.items.filter(({ position }) => !seen.has(position))
  const rewinds = rewindsBetween(log, before.effective.at, after.effective.at)
  // In logs written by this package, only a rewind leads back, so the fallback position is not used.
  const rewound = ({ position }: Item): Reason => ({
    because: 'rewind',
    event: rewinds.of(position) ?? Math.min(after.effective.at, lastOf(log)),
  })
  return [
    ...gone.map((item) =>
      differenceOf(item, 'disappeared', before, goneBy(item, before, after) ?? rewound(item)),
    ),
    ...come.map((item) =>
      differenceOf(item, 'appeared', after, comeBy(item, before, after) ?? rewound(item)),
    ),
  ]
}

type Reason = Pick<Difference, 'because' | 'event'>

const differenceOf = (
  item: Item,
  change: Difference['change'],
  { tokensAt }: HistorySnapshot,
  reason: Reason,
): Difference => ({
  change,
  position: item.position,
  kind: item.kind,
  ...(item.kind === 'message' && { role: item.role }),
  tokens: tokensAt(item.position),
  ...reason,
})

/** Returns the reason why an item disappeared; undefined if a rewind removed it. */
const goneBy = ({ position }: Item, before: HistorySnapshot, after: HistorySnapshot): Reason | undefined => {
  const fate = after.entryAt(position)
  const event = fate?.by ?? -1
  // An event before the earlier call hides the item again because of a rewind, so it is not the reason.
  const status = event > before.effective.at ? fate?.status : undefined
  switch (status) {
    case 'condensed':
      return { because: isEdit(after, event) ? 'edit' : 'condense', event }
    case 'truncated':
      return { because: 'truncate', event }
    case 'restored':
      return { because: 'restore', event }
    case 'abandoned':
    case 'active':
    case undefined:
      return undefined
  }
}

/** Returns the reason why an item appeared; undefined if a rewind brought it back. */
const comeBy = (item: Item, before: HistorySnapshot, after: HistorySnapshot): Reason | undefined => {
  const { position: event } = item
  if (event > before.effective.at)
    return { because: item.kind === 'message' ? 'message' : markerKind(item), event }
  const hiddenBy = before.entryAt(event)?.by
  const marker = hiddenBy === undefined ? undefined : after.entryAt(hiddenBy)
  return marker?.status === 'restored' && marker.by !== undefined && marker.by > before.effective.at
    ? { because: 'restore', event: marker.by }
    : undefined
}

const isEdit = ({ entryAt }: HistorySnapshot, marker: number): boolean => {
  const item = entryAt(marker)
  return item !== undefined && item.kind !== 'message' && messageIn(item) !== undefined
}
