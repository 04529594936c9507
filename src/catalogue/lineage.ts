import type { ThreadTable } from './rows.ts'
import type { ThreadRow } from './thread.ts'

/** A part of a conversation: the events of one thread, through position `last`. */
export interface LineagePart {
  readonly row: ThreadRow
  readonly last: number
}

/** The threads that a conversation is made of, oldest first; those without events in it left out. */
export const partsOf = (rows: ThreadTable, own: ThreadRow): readonly LineagePart[] => {
  const parts: LineagePart[] = []
  let end = own.last
  for (let row: ThreadRow | undefined = own; row;) {
    if (row.from <= end) parts.push({ row, last: end })
    end = Math.min(end, row.from - 1)
    row = row.parent === null ? undefined : rows.byNumber(row.parent)
  }
  return parts.toReversed()
}
