import { type ConversationEvent, START } from '../events/events.ts'
import { atOnce, sliceLength } from './slices.ts'

/** The events of a conversation's lineage from its start, indexed by position. */
export type Log = readonly ConversationEvent[]

/** Returns the last position of a log; `START` for an empty one. */
export const lastOf = (log: Log): number => log.length - 1

/** Returns the head right after the event at `position`: the position itself or, for a rewind, the end of its chain of rewinds. */
export const resolve = (log: Log, position: number): number => {
  let at = position
  for (let event = log[at]; event?.type === 'Rewound'; event = log[at]) at = event.data.to
  return at
}

/** Returns the position of the preceding event on the path of the event at `position`. */
export const parent = (log: Log, position: number): number => resolve(log, position - 1)

/** Returns the positions on the path at `at`, ascending: all events from the start to the head, except those that were rewound away. */
export const path = (log: Log, at = lastOf(log)): readonly number[] => atOnce(pathInSlices(log, at))

/** Computes the same as `path`, in slices of work. */
export function* pathInSlices(log: Log, at: number): Generator<void, readonly number[]> {
  const positions: number[] = []
  for (let p = resolve(log, at); p > START; p = parent(log, p))
    if (positions.push(p) % sliceLength === 0) yield
  return positions.toReversed()
}

/**
 * Returns the events after a position that are on the path at `at`; undefined if the path no longer includes that position.
 *
 * @param since all events after the position, at least through `at`
 */
export const pathAfter = (
  since: readonly ConversationEvent[],
  position: number,
  at: number,
): readonly ConversationEvent[] | undefined => {
  const log: ConversationEvent[] = []
  for (const event of since) log[event.position] = event
  const events: ConversationEvent[] = []
  let place = resolve(log, at)
  for (let event = log[place]; event; event = log[place]) {
    events.push(event)
    place = parent(log, place)
  }
  return place === position ? events.toReversed() : undefined
}
