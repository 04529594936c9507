import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { count } from '../words.ts'
import { lengthOf } from './kinds.ts'
import { isOutcomeOf } from './outcomes.ts'
import { InPlace, type RowContext } from './row-parts.tsx'
import { rowLabel, RowView } from './row-views.tsx'
import { usePrinting } from './use-printing.ts'
import type { HistoryRow } from './rows.ts'
import { useVirtual } from './virtual.ts'

/** Row to scroll into view, and the time at which that was requested. */
export interface Brought {
  readonly index: number
  readonly time: number
  readonly align: 'start' | 'auto'
}

type Held = 'end' | { readonly key: string; readonly align: Brought['align'] } | undefined

interface ListProps {
  readonly rows: readonly HistoryRow[]
  readonly around: RowContext
  /** Index of the selected row; -1 without a selection. */
  readonly selected: number
  readonly onSelect: (row: HistoryRow) => void
  /** Key of the view that the rows belong to. When the key changes, the list scrolls to its end. */
  readonly place: string
  /**
   * Row to scroll into view once: either to the top (`start`), or only as far as needed to be visible (`auto`), in which case the row
   * also receives the focus. If undefined, the list keeps its scroll position, but scrolls to its end when `place` changes.
   */
  readonly show: Brought | undefined
}

export const keyOfRow = (row: HistoryRow): string =>
  `${row.kind} ${row.position} ${row.kind === 'repair' ? row.repair.detail : ''}`

/** Estimates the height in pixels of a row that has not been measured yet. */
const estimated = (row: HistoryRow): number => {
  if (row.kind === 'jump' || row.kind === 'restored' || row.kind === 'more' || row.kind === 'repair')
    return 34
  if (row.kind === 'group') return 130
  const item = row.kind === 'same' ? row.item : row.entry
  return 44 + 20 * Math.min(9, Math.ceil(lengthOf(item, 9 * 110) / 110))
}

export const List = ({ rows, around, selected, onSelect, place, show }: ListProps) => {
  const { virtual, scroller } = useVirtual({
    count: rows.length,
    keyOf: (index) => keyOf(rows[index]),
    estimate: (index) => estimatedAt(rows[index]),
    isWhole: usePrinting(),
  })
  const shown = useRef<string | undefined>(undefined)
  const time = useRef(0)
  /** Row or end of the list that stays in view while rows are added, measured or resized. Reset when the user scrolls. */
  const held = useRef<Held>('end')
  const scrolled = useRef(0)
  const keep = useRef((): void => undefined)
  keep.current = () => {
    if (held.current === undefined || rows.length === 0) return
    if (held.current === 'end') return virtual.scrollToIndex(rows.length - 1, { align: 'end' })
    const { key, align } = held.current
    const index = rows.findIndex((row) => keyOfRow(row) === key)
    if (index >= 0) virtual.scrollToIndex(index, { align })
  }

  // When the position changes, the list scrolls to its end, where the event at that position is. Rows that are added later do not move
  // the rows in view, and elements that appear below the list, such as waiting calls, do not cover them.
  useLayoutEffect(() => {
    if (rows.length === 0) return
    const isOther = shown.current !== place
    shown.current = place
    const row = show && show.time !== time.current ? rows[show.index] : undefined
    if (show && row) {
      time.current = show.time
      held.current = { key: keyOfRow(row), align: show.align }
    } else if (isOther) held.current = 'end'
    keep.current()
    if (show?.align === 'auto' && row) requestAnimationFrame(() => focusRow(scroller.current, show.index))
  }, [place, rows, show, virtual.scrollRect?.height])

  // Elements that appear above or below the list, such as waiting calls, make it smaller, but the held row or end stays in view.
  useEffect(() => {
    const watching = new ResizeObserver(() => keep.current())
    if (scroller.current) watching.observe(scroller.current)
    return () => watching.disconnect()
  }, [])
  const letGo = (): void => {
    if (held.current !== 'end') held.current = undefined
  }

  const groups = useMemo(() => openGroups(rows), [rows])
  const items = virtual.getVirtualItems()
  const starts = virtual.measurementsCache
  const focusable = selected >= 0 ? selected : rows.length - 1
  return (
    <div
      class="rows"
      ref={scroller}
      tabIndex={-1}
      onWheel={letGo}
      onTouchMove={letGo}
      onPointerDown={letGo}
      onKeyDown={letGo}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        const isUp = scrollTop < scrolled.current
        scrolled.current = scrollTop
        // Scrolling the held row into view also triggers this event. The row is out of view only after another scroll, for example by
        // the browser's search.
        if (typeof held.current === 'object') {
          const { key } = held.current
          const row = starts[rows.findIndex((one) => keyOfRow(one) === key)]
          if (row && (row.end < scrollTop || row.start > scrollTop + clientHeight)) held.current = undefined
          return
        }
        if (scrollTop + clientHeight > scrollHeight - 24) held.current = 'end'
        // Otherwise, the end may have moved because rows were measured, without a scroll by the user.
        else if (isUp) held.current = undefined
      }}
    >
      <div class="canvas" style={{ height: `${virtual.getTotalSize()}px` }}>
        {groups.map(({ from, to, row }) => {
          // Below the band of the marker.
          const top = starts[from]?.end ?? 0
          const bottom = starts[to]?.end ?? top
          return (
            <div key={row.position} class="beside" style={{ top: `${top}px`, height: `${bottom - top}px` }}>
              <div class="beside-panel">
                <button type="button" class="link" onClick={() => around.toggle(row.position)}>
                  hide the {count(row.item.messagesHidden, 'message')}
                </button>
                <InPlace around={around} item={row.item} />
              </div>
            </div>
          )
        })}
        {/* Only rows may be in the list. */}
        <div role="list" aria-label={`Position ${around.at}`}>
          {items.map(({ index, key, start }) => {
            const row = rows[index]
            if (!row) return null
            return (
              <div
                key={key}
                data-index={index}
                data-position={row.kind === 'repair' ? undefined : row.position}
                ref={(node) => virtual.measureElement(node)}
                role="listitem"
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                aria-label={rowLabel(row, around.names)}
                data-open={row.kind === 'group' && row.isOpen ? '' : undefined}
                aria-current={index === selected ? 'true' : undefined}
                tabIndex={index === focusable ? 0 : -1}
                class={classOf(row, index === selected, isOutcomeOf(rows[index - 1], row))}
                style={{ top: `${start}px` }}
                onClick={() => onSelect(row)}
              >
                <RowView around={around} row={row} isSelected={index === selected} />
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** Returns the CSS classes of a row, which depend on its kind, on why it is hidden, and on whether it is selected or the result of the row before. */
const classOf = (row: HistoryRow, isSelected: boolean, isOutcome: boolean): string =>
  [
    'entry',
    row.kind,
    ...(row.kind === 'group' ? [row.item.kind === 'summary' ? 'tone-condensed' : 'tone-truncated'] : []),
    ...(row.kind === 'hidden' ? [`tone-${row.entry.status}`] : []),
    ...(row.kind === 'abandoned' ? ['tone-abandoned'] : []),
    ...(isSelected ? ['selected'] : []),
    ...(isOutcome ? ['of-call'] : []),
  ].join(' ')

const keyOf = (row: HistoryRow | undefined): string => (row ? keyOfRow(row) : '')
const estimatedAt = (row: HistoryRow | undefined): number => (row ? estimated(row) : 0)

const focusRow = (scroller: HTMLElement | null, index: number): void => {
  const row = scroller?.querySelector(`[data-index="${index}"]`)
  if (row instanceof HTMLElement) row.focus({ preventScroll: true })
}

type Group = Extract<HistoryRow, { readonly kind: 'group' }>

/** Returns the index range of each expanded group of hidden messages. The marker's item is shown beside this range. */
const openGroups = (
  rows: readonly HistoryRow[],
): readonly { readonly from: number; readonly to: number; readonly row: Group }[] =>
  rows.flatMap((row, from) => {
    if (row.kind !== 'group' || !row.isOpen) return []
    let to = from
    for (let next = rows[to + 1]; next && 'group' in next && next.group === row.position; next = rows[to + 1])
      to++
    return [{ from, to, row }]
  })
