import { effective } from '../projections/effective.ts'
import { type Log, path } from '../projections/path.ts'

/** State of a conversation as of a position. */
interface Stand {
  readonly configured: number | undefined
  /** Returns the state of an event in the history as of this position; `abandoned` if the event is not on the path. */
  readonly of: (position: number) => 'shown' | 'hidden' | 'abandoned'
}

/** Lookup that finds the rewind that caused a change, in a range of positions. */
export interface Rewinds {
  /**
   * Returns the last rewind that changed the state of an event. If no rewind changed it, returns the last rewind. Returns undefined if
   * the range contains no rewind.
   */
  readonly of: (position: number) => number | undefined
  /**
   * Returns the last rewind that changed the configuration. If no rewind changed it, returns the last rewind. Returns undefined if the
   * range contains no rewind.
   */
  readonly ofConfiguration: () => number | undefined
}

export const rewindsBetween = (log: Log, after: number, at: number): Rewinds => {
  const rewinds = log.slice(after + 1, at + 1).filter(({ type }) => type === 'Rewound')
  let stands: readonly (readonly [rewind: number, before: Stand, after: Stand])[] | undefined
  const last = (valueIn: (stand: Stand) => unknown): number | undefined => {
    // The usual case: with at most one rewind, nothing needs to be compared.
    if (rewinds.length <= 1) return rewinds[0]?.position
    stands ??= rewinds.map(({ position }) => [position, standAt(log, position - 1), standAt(log, position)])
    const changing = stands.findLast(([, before, now]) => valueIn(before) !== valueIn(now))
    return changing?.[0] ?? rewinds.at(-1)?.position
  }
  return {
    of: (position) => last((stand) => stand.of(position)),
    ofConfiguration: () => last(({ configured }) => configured),
  }
}

const standAt = (log: Log, at: number): Stand => {
  const { items, layout } = effective(log, at)
  const shown = new Set(items.map(({ position }) => position))
  const onPath = new Set(path(log, at))
  return {
    configured: layout.configured,
    of: (position) => (shown.has(position) ? 'shown' : onPath.has(position) ? 'hidden' : 'abandoned'),
  }
}
