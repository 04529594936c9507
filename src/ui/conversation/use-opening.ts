import { useEffect, useRef } from 'preact/hooks'
import { openingMarker } from './markers.ts'
import type { Moves } from './use-moves.ts'
import type { PositionView } from './use-rows.ts'
import type { RowSelection } from './use-selected.ts'
import type { Sight } from './use-sight.ts'

/**
 * Selects the newest compaction when a conversation is opened by an address without a view, and scrolls to it. The position stays the
 * last one.
 */
export const useOpening = (
  { view, value, isBusy }: Sight,
  shown: PositionView,
  { show }: Moves,
  { bring }: RowSelection,
): void => {
  const isPlain = view.at === undefined && view.sel === undefined && view.find === undefined
  const isOpening = useRef(isPlain && view.open.length === 0)
  useEffect(() => {
    if (!isOpening.current || value === undefined || isBusy) return
    isOpening.current = false
    const marker = isPlain ? openingMarker(shown.markers) : undefined
    if (marker === undefined) return
    bring(marker)
    show({ sel: marker }, true)
  }, [value, isBusy])
}
