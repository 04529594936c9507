import { effective } from '../projections/effective.ts'
import { type Log, parent, path, resolve } from '../projections/path.ts'
import { render } from '../projections/render/renderer.ts'

/** Prior weight of events that change the context other than by adding a message. A message has the weight 1. */
const suspicion = 8

/**
 * Returns the positions after `good`, up to and including `bad`, and the prior weight of each. The following weigh more: markers,
 * restores, configurations, events right after a rewind, and events that a request could show only after a repair.
 *
 * The positions are on one path. If a rewind has abandoned the good position, the result instead contains all positions recorded after
 * it, including the rewind.
 */
export const suspectsBetween = (
  log: Log,
  good: number,
  bad: number,
): { readonly candidates: readonly number[]; readonly weights: readonly number[] } => {
  const way = path(log, bad)
  const isOnWay = good < 0 || way.includes(resolve(log, good))
  const all = isOnWay ? way : log.slice(0, bad + 1).map(({ position }) => position)
  const candidates = all.filter((position) => position > good)
  const repaired = new Set(render(effective(log, bad)).repairs.map(({ position }) => position))
  const isSuspect = (position: number): boolean =>
    log[position]?.type !== 'MessageAppended' ||
    parent(log, position) !== position - 1 ||
    repaired.has(position)
  return { candidates, weights: candidates.map((position) => (isSuspect(position) ? suspicion : 1)) }
}
