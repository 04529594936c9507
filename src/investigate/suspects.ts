import { effective } from '../projections/effective.ts'
import { type Log, parent, path, resolve } from '../projections/path.ts'
import { render } from '../projections/render/renderer.ts'

/** How much likelier than a message it is that something went wrong with what changes the context otherwise. */
const suspicion = 8

/**
 * The positions between a good one and a bad one, and how suspicious each is beforehand: markers, restores, configurations, what comes
 * right after a rewind, and what a request could only show repaired.
 *
 * They are those of one path; if a rewind has abandoned the good position, all that were recorded since, the rewind included.
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
