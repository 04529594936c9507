import type { DatabaseSync } from 'node:sqlite'
import { partsOf } from './lineage.ts'
import type { ConversationTable } from './rows.ts'
import type { ConversationRow } from './conversation-row.ts'

/** Range of positions, both inclusive, that a rewind abandoned, including any ranges inside it that were abandoned earlier. */
export interface AbandonedRange {
  readonly first: number
  readonly last: number
  /** Position of the `Rewound` event that abandoned the range. */
  readonly by: number
}
/** A conversation forked from another. */
export interface ForkedOff {
  readonly id: string
  /** Last position that the fork shares with its parent. */
  readonly at: number
}
/** Abandoned branches and forks of a conversation. */
export interface BranchSummary {
  /** Abandoned ranges, newest first; they do not overlap. */
  readonly abandoned: readonly AbandonedRange[]
  /** Conversations forked from this conversation, most recently begun first. */
  readonly forks: readonly ForkedOff[]
  /** True if both lists are complete. Each is limited to 100 entries, and some events and forks may not be indexed yet. */
  readonly isAll: boolean
}

/** Maximum number of abandoned ranges and of forks returned. */
const most = 100

/**
 * Returns the abandoned branches and forks of a conversation. The work depends on the number returned, not on the length of the
 * conversation.
 *
 * @param thread the conversation; `last` is the last position to consider
 */
export const branchesOf = (
  db: DatabaseSync,
  rows: ConversationTable,
  thread: ConversationRow,
): BranchSummary => {
  const abandoned = abandonedIn(db, rows, thread)
  const forks = db
    .prepare('SELECT id, "from" FROM threads WHERE parent = ? AND "from" <= ? ORDER BY n DESC LIMIT ?')
    .all(thread.n, thread.last + 1, most + 1)
    .map((row) => ({ id: String(row['id']), at: Number(row['from']) - 1 }))
  return {
    abandoned: abandoned.slice(0, most),
    forks: forks.slice(0, most),
    isAll: abandoned.length <= most && forks.length <= most,
  }
}

/** Returns at most `most` + 1 abandoned ranges, newest first, by following the path backwards from rewind to rewind. */
const abandonedIn = (
  db: DatabaseSync,
  rows: ConversationTable,
  thread: ConversationRow,
): readonly AbandonedRange[] => {
  const before = db.prepare(
    "SELECT position, target FROM marks WHERE thread = ? AND kind = 'W' AND position <= ? ORDER BY position DESC LIMIT 1",
  )
  const abandoned: AbandonedRange[] = []
  let end = thread.last
  for (const { row } of partsOf(rows, thread).toReversed())
    while (end >= row.from && abandoned.length <= most) {
      const rewind = before.get(row.n, end)
      if (!rewind) {
        end = row.from - 1
        break
      }
      const [by, to] = [Number(rewind['position']), Number(rewind['target'])]
      abandoned.push({ first: to + 1, last: by - 1, by })
      end = to
    }
  return abandoned
}
