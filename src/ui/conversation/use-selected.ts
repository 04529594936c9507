import { useEffect, useRef, useState } from 'preact/hooks'
import { here } from '../router.ts'
import { type ConversationViewState, viewOf } from '../url.ts'
import type { Brought } from './list.tsx'
import type { HistoryRow } from './rows.ts'
import { type Moves, together } from './use-moves.ts'

export interface RowSelection {
  /** Index of the selected row; -1 without a selection. */
  readonly index: number
  readonly row: HistoryRow | undefined
  readonly brought: Brought | undefined
  readonly select: (row: HistoryRow) => void
  readonly selectBy: (by: 1 | -1) => void
  /** Scrolls the row at a position to the top as soon as the row exists. Undefined cancels a pending scroll. */
  readonly bring: (position: number | undefined) => void
}

export const useSelected = (
  rows: readonly HistoryRow[],
  { sel }: ConversationViewState,
  { show }: Moves,
): RowSelection => {
  const own = sel === undefined ? -1 : rows.findIndex((row) => row.position === sel && isOwn(row))
  const index = own >= 0 || sel === undefined ? own : rows.findIndex((row) => row.position === sel)
  const { brought, bring, bringRow } = useBrought(rows, sel)
  const select = (to: HistoryRow): void => show({ sel: to.position }, true)
  return {
    index,
    row: rows[index],
    brought,
    select,
    selectBy: (by) => {
      const to = index < 0 ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, index + by))
      const row = rows[to]
      if (row) select(row)
      bringRow(to)
    },
    bring,
  }
}

/**
 * Reports whether a row shows the event at its position. Abandoned ranges and repairs do not; they only share a position with another
 * row.
 */
const isOwn = ({ kind }: HistoryRow): boolean => kind !== 'jump' && kind !== 'repair'

const useBrought = (rows: readonly HistoryRow[], sel: number | undefined) => {
  const wanted = useRef<number | undefined>(sel)
  const [brought, setBrought] = useState<Brought>()
  // After Back, the row that was selected in that view is scrolled into view again.
  useEffect(() => {
    const back = (): void => {
      wanted.current = viewOf(here().search).sel
    }
    addEventListener('popstate', back)
    return () => removeEventListener('popstate', back)
  }, [])
  // A row that was scrolled to the top stays there while the rest of the view loads.
  const held = useRef({ position: -1, until: 0 })
  useEffect(() => {
    const now = performance.now()
    const position = wanted.current ?? (now < held.current.until ? held.current.position : undefined)
    const found = rows.findIndex((one) => one.position === position)
    if (position === undefined || found < 0) return
    if (wanted.current !== undefined) held.current = { position, until: now + together }
    wanted.current = undefined
    setBrought({ index: found, time: now, align: 'start' })
  }, [rows, sel])
  return {
    brought,
    bring: (position: number | undefined): void => {
      wanted.current = position
      if (position === undefined) held.current = { position: -1, until: 0 }
    },
    bringRow: (index: number): void => setBrought({ index, time: performance.now(), align: 'auto' }),
  }
}
