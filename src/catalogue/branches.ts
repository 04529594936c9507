import type { DatabaseSync } from 'node:sqlite'
import { partsOf } from './lineage.ts'
import type { ThreadTable } from './rows.ts'
import type { ThreadRow } from './thread.ts'

/** Positions that are not on the path: a rewind left them, with whatever was abandoned among them before. */
export interface AbandonedRange {
  readonly first: number
  readonly last: number
  /** The position of the rewind. */
  readonly by: number
}
/** A conversation that was forked from another one. */
export interface ForkedOff {
  readonly id: string
  /** The last position that it has of the other one. */
  readonly at: number
}
/** What was tried beside the path of a conversation. */
export interface BranchSummary {
  /** The newest first; they do not overlap. */
  readonly abandoned: readonly AbandonedRange[]
  /** Those that name it as what they were forked from, begun last first. */
  readonly forks: readonly ForkedOff[]
  /** Whether these are all: there are at most 100 of each, and others may not be indexed yet. */
  readonly isAll: boolean
}

/** The most of each. */
const most = 100

/** Reads as much as it gives, however long the conversation is. @param thread as far as is to be looked at */
export const branchesOf = (db: DatabaseSync, rows: ThreadTable, thread: ThreadRow): BranchSummary => {
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

/** From the end along the path, from rewind to rewind: one more than are given, if there are so many. */
const abandonedIn = (db: DatabaseSync, rows: ThreadTable, thread: ThreadRow): readonly AbandonedRange[] => {
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
