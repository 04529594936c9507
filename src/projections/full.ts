import { hasNoEffect } from '../events/event-traits.ts'
import { type ConversationEvent, START } from '../events/events.ts'
import { type Item, itemIn } from './effective.ts'
import { foldInSlices } from './layout.ts'
import { lastOf, type Log, parent, path, resolve } from './path.ts'
import { atOnce, sliceLength } from './slices.ts'

/**
 * Status of an entry: `active` (shown), `condensed` or `truncated` (hidden by the marker `by`), `restored` (a marker undone by the
 * event `by`), or `abandoned` (by the `Rewound` event `by`).
 */
export type EntryStatus = 'active' | 'condensed' | 'truncated' | 'restored' | 'abandoned'

/** Status of an entry, with the position of the event that caused it. */
export interface EntryState {
  readonly status: EntryStatus
  readonly by?: number
}

/** A message or marker of the full history, with its status. */
export type Entry = Item & EntryState

/** Options that select entries of a full history. */
export interface FullOptions {
  /** Position at which the history is read. Default: the last one. */
  readonly at?: number | undefined
  /** Include abandoned branches. Default false. */
  readonly abandoned?: boolean | undefined
  /** Number of newest entries to return; at least 1. Default: all. */
  readonly last?: number | undefined
  /** Position before which entries are returned; with `last`, it selects the preceding page. Default: all entries. */
  readonly before?: number | undefined
}

/**
 * Returns the full history: every message and marker once, by position, each with its status.
 *
 * @param toItem converts an event to an item that belongs to the history alone
 */
export const full = (log: Log, options: FullOptions = {}, toItem = itemIn): readonly Entry[] =>
  atOnce(fullInSlices(log, options, toItem))

/** Computes the same as `full`, in slices of work. */
export function* fullInSlices(
  log: Log,
  { at = lastOf(log), abandoned = false, last = Infinity, before = Infinity }: FullOptions,
  toItem = itemIn,
): Generator<void, readonly Entry[]> {
  const fates = yield* fatesAt(log, at)
  const left = abandoned ? yield* rewindsAt(log, at) : []
  const entries: Entry[] = []
  const end = Math.min(at + 1, before, log.length)
  for (let position = 0; position < end; position++) {
    if ((position + 1) % sliceLength === 0) yield
    const event = log[position]
    const item = event && toItem(event)
    if (!item) continue
    const fate = fates[position]
    const by = left[position]
    if (fate) entries.push(Object.assign(item, fate))
    else if (by !== undefined) entries.push(Object.assign(item, { status: 'abandoned' as const, by }))
  }
  return last < entries.length ? entries.slice(-last) : entries
}

const active: EntryState = { status: 'active' }

/** Returns the state of each entry at position `at`, indexed by the entry's position. */
function* fatesAt(log: Log, at: number): Generator<void, readonly (EntryState | undefined)[]> {
  const fates: (EntryState | undefined)[] = []
  const decided: Fates = {
    set: (position, fate) => {
      // Leave no gaps: sparse arrays are slow.
      while (fates.length < position) fates.push(undefined)
      fates[position] = fate
    },
  }
  yield* foldInSlices(log, at, (event, slots) => decideFates(decided, event, slots))
  return fates
}

interface Fates {
  readonly set: (position: number, fate: EntryState) => void
}

/** Updates the entry states for the next event of the path. */
export const decideFates = (
  fates: Fates,
  event: ConversationEvent,
  slots: readonly { readonly position: number }[] | undefined,
): void => {
  if (hasNoEffect(event)) return
  const { type, position } = event
  switch (type) {
    case 'MessageAppended':
      fates.set(position, active)
      break
    case 'Condensed':
    case 'Truncated':
      if (!slots) break
      fates.set(position, active)
      for (const slot of slots)
        fates.set(slot.position, { status: type === 'Condensed' ? 'condensed' : 'truncated', by: position })
      break
    case 'Restored':
      if (!slots) break
      fates.set(event.data.marker, { status: 'restored', by: position })
      for (const slot of slots) fates.set(slot.position, active)
      break
    case 'Configured':
    case 'Rewound':
      break
  }
}

/**
 * Returns the state of each configuration at a position, by the configuration's own position. `shown`: the configuration is current;
 * `hidden`: the configuration at `by` replaced it; `abandoned`: the rewind at `by` abandoned it.
 */
export const configurationsAt = (log: Log, at: number): ReadonlyMap<number, ConfigurationState> => {
  const states = new Map<number, ConfigurationState>()
  for (const [position, by] of atOnce(rewindsAt(log, at)).entries())
    if (by !== undefined && log[position]?.type === 'Configured')
      states.set(position, { state: 'abandoned', by })
  const inForce = path(log, at).filter((position) => log[position]?.type === 'Configured')
  for (const [index, position] of inForce.entries()) {
    const by = inForce[index + 1]
    states.set(position, by === undefined ? { state: 'shown' } : { state: 'hidden', by })
  }
  return states
}
export type ConfigurationState =
  | { readonly state: 'shown' }
  | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

/**
 * Returns, for each position, the position of the last `Rewound` event that took it off the path at `at`; undefined for positions on
 * the path. The first element belongs to position `first`; the log may lack earlier events. Runs in slices of work.
 */
export function* rewindsAt(
  log: Log,
  at: number,
  first = 0,
): Generator<void, readonly (number | undefined)[]> {
  const left: (number | undefined)[] = []
  const within = (position: number): number => (position < first ? START : position)
  let steps = 0
  for (let position = first; position <= at; position++) {
    left.push(undefined)
    if (++steps % sliceLength === 0) yield
    if (log[position]?.type !== 'Rewound') continue
    // Walk from both tips to where the paths meet: the events on one side leave the path, those on the other side return to it.
    let from = within(parent(log, position))
    let to = within(resolve(log, position))
    while (from !== to) {
      if (++steps % sliceLength === 0) yield
      if (from > to) {
        left[from - first] = position
        from = within(parent(log, from))
      } else {
        left[to - first] = undefined
        to = within(parent(log, to))
      }
    }
  }
  return left
}
