import type { ConversationTable } from './rows.ts'
import type { ConversationRow } from './conversation-row.ts'

/** Part of a conversation's lineage: events of one stream, through position `last`. */
export interface LineagePart {
  readonly row: ConversationRow
  readonly last: number
}

/** Returns the parts of a conversation's lineage, oldest first. Ancestors that contribute no events are omitted. */
export const partsOf = (rows: ConversationTable, own: ConversationRow): readonly LineagePart[] => {
  const parts: LineagePart[] = []
  let end = own.last
  for (let row: ConversationRow | undefined = own; row;) {
    if (row.from <= end) parts.push({ row, last: end })
    end = Math.min(end, row.from - 1)
    row = row.parent === null ? undefined : rows.byNumber(row.parent)
  }
  return parts.toReversed()
}
