import { firstOf } from './markers.ts'
import { page } from './fetching/sizes.ts'
import type { Moves } from './use-moves.ts'
import type { PositionView } from './use-rows.ts'
import type { RowSelection } from './use-selected.ts'
import type { Sight } from './use-sight.ts'

interface Parts {
  readonly sight: Sight
  readonly moves: Moves
  readonly shown: PositionView
  readonly selected: RowSelection
}

/**
 * Selects the event at a position and scrolls to it: opens the group or the abandoned range that contains it, or, if the event comes
 * later or is too far inside a group, goes to its position.
 */
export const reveal = ({ sight, moves, shown, selected }: Parts, position: number): void => {
  const { view, at, outline } = sight
  if (at === undefined || !outline) return
  const around = shown.markers.find(
    (marker) => marker.position !== position && isUnder(shown, sight, marker, position),
  )
  const jump = shown.paths.jumps(at).find(({ from, to }) => from <= position && position <= to)
  const own = around?.position ?? jump?.from
  if (position > at || (around && around.position - position > page)) {
    moves.jump(position, { sel: position })
    return
  }
  const isOpen = own === undefined || view.open === 'all' || view.open.includes(own)
  selected.bring(position)
  moves.show({ open: isOpen ? view.open : [...view.open, own], sel: position })
}

/** Reports whether a visible marker hides a position, directly or through other markers. */
const isUnder = (
  { markers }: PositionView,
  { outline }: Sight,
  { position: marker, covers }: PositionView['markers'][number],
  position: number,
): boolean => {
  if (position >= marker) return false
  const known = new Map(outline?.markers.map((one) => [one.position, one]))
  const own = known.get(marker)
  const first = own ? firstOf(own, known) : Math.min(covers.first, covers.last)
  // The next visible item after the slice is after the last covered position, so what precedes the slice is another marker's.
  return (
    position >= first &&
    position <= Math.max(covers.last, first) &&
    !markers.some((one) => one.position === position)
  )
}
