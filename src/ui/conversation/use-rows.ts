import { useCallback, useMemo } from 'preact/hooks'
import type { HiddenByMarker } from '../../core.ts'
import type { ApiSource } from '../source/source.ts'
import { useHidden } from './fetching/use-hidden.ts'
import { usePieces } from './fetching/pieces.ts'
import { useRepairs } from './fetching/repairs.ts'
import { toolNames } from './kinds.ts'
import { firstOf, openingMarker } from './markers.ts'
import { type CallOutcome, outcomesIn } from './outcomes.ts'
import { type Paths, paths } from './path.ts'
import { isInPane, type MarkerItem, type OpenSection, type HistoryRow, rowsOf } from './rows.ts'
import type { EffectiveResponse, OutlineResponse } from '../source/answers.ts'
import type { Sight } from './use-sight.ts'

export interface PositionView {
  /** Rows that the selected pane shows. */
  readonly rows: readonly HistoryRow[]
  /** Tool name of each call, by call id. */
  readonly names: ReadonlyMap<string, string>
  readonly outcomes: ReadonlyMap<string, CallOutcome>
  readonly paths: Paths
  /** Visible markers. `hidden` has the content that each of them hides, by the marker's position. */
  readonly markers: readonly MarkerItem[]
  readonly hidden: ReadonlyMap<number, HiddenByMarker>
  readonly hiddenCount: number
  readonly opened: readonly OpenSection[]
  /** Fetches earlier entries of an expanded group. */
  readonly more: (group: number) => void
}

export const useRows = (source: ApiSource, id: string, sight: Sight): PositionView => {
  const { view, value, outline, isBusy } = sight
  const own = useMemo(() => paths(outline?.rewinds ?? []), [outline])
  const isOpen = useCallback(
    (position: number) => view.open === 'all' || view.open.includes(position),
    [view.open],
  )
  const opened = useMemo(
    () => (value ? openedIn({ value, own, isOpen, outline }) : []),
    [value, own, isOpen, outline],
  )
  const { pieceOf, more } = usePieces(source, id, value?.at, opened)
  const made = useRepairs(source, id, isBusy ? undefined : value)
  const repairs = useMemo(() => made && repairsIn(made, value), [made, value])
  const restores = outline?.restores
  const all = useMemo(
    () =>
      value
        ? rowsOf({
            at: value.at,
            items: value.items,
            paths: own,
            restores: restores ?? [],
            isOpen,
            pieceOf,
            repairs,
          })
        : [],
    [value, own, restores, isOpen, opened, pieceOf, repairs],
  )
  const rows = useMemo(() => all.filter((row) => isInPane(row, view.pane)), [all, view.pane])
  const names = useMemo(
    () => toolNames(all.flatMap((row) => ('item' in row ? [row.item] : 'entry' in row ? [row.entry] : []))),
    [all],
  )
  const outcomes = useMemo(() => outcomesIn(all), [all])
  const markers = useMemo(
    () => (value?.items ?? []).flatMap((item) => (item.kind === 'message' ? [] : [item])),
    [value],
  )
  // The story of the selected marker says more.
  const opening = view.at === undefined ? openingMarker(markers) : undefined
  const told = source.isLive ? (view.sel ?? opening) : undefined
  const hidden = useHidden(
    source,
    id,
    markers.flatMap(({ position }) => (position === told ? [] : [position])),
  )
  const hiddenCount = markers.reduce((sum, { messagesHidden }) => sum + messagesHidden, 0)
  return { rows, names, outcomes, paths: own, markers, hidden, hiddenCount, opened, more }
}

interface Openable {
  readonly value: EffectiveResponse
  readonly own: Paths
  readonly isOpen: (position: number) => boolean
  readonly outline: OutlineResponse | undefined
}

/** Returns the expanded groups and abandoned ranges. */
const openedIn = ({ value, own, isOpen, outline }: Openable): readonly OpenSection[] => {
  const markers = new Map(outline?.markers.map((marker) => [marker.position, marker]))
  const groups = value.items.flatMap(({ kind, position }): readonly OpenSection[] => {
    if (kind === 'message' || !isOpen(position)) return []
    const marker = markers.get(position)
    return [{ position, before: position, from: marker ? firstOf(marker, markers) : 0, isGroup: true }]
  })
  const jumps = own.jumps(value.at).filter(({ from }) => isOpen(from))
  return [
    ...groups,
    ...jumps.map(({ from, to }) => ({ position: from, before: to + 1, from, isGroup: false })),
  ]
}

/** Returns the repairs to show. Omits repairs for calls in the last reply, because these calls merely have no result yet. */
const repairsIn = (
  made: NonNullable<EffectiveResponse['repairs']>,
  value: EffectiveResponse | undefined,
): EffectiveResponse['repairs'] =>
  made.filter(
    ({ kind, position }) => !(kind === 'call-answered' && position === value?.items.at(-1)?.position),
  )
