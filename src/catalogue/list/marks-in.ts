import type { DatabaseSync } from 'node:sqlite'
import { partsOf } from '../lineage.ts'
import type { ConversationRow } from '../conversation-row.ts'
import type { ConversationTable } from '../rows.ts'

/** Numbers of the events that change what the model sees, abandoned ones included: each only if there are any. */
export interface MarkCounts {
  readonly condensed?: number
  readonly truncated?: number
  readonly rewound?: number
  readonly restored?: number
}

/** Marks of a conversation: their numbers, and one letter for each sample of its curve. */
export interface ListedMarks {
  readonly marks: MarkCounts
  readonly curveMarks: string
}

const names = { C: 'condensed', T: 'truncated', W: 'rewound', R: 'restored' } as const
const isName = (kind: string): kind is keyof typeof names => Object.hasOwn(names, kind)

/** Maximum number of marks that are read of a conversation, the newest ones. */
const mostMarks = 1_000

/**
 * Returns the marks of a conversation, including inherited ones, at most the newest 1,000.
 *
 * @param samples number of samples of the conversation's curve
 */
export const marksIn = (
  db: DatabaseSync,
  rows: ConversationTable,
  thread: ConversationRow,
  samples: number,
): ListedMarks => {
  const marks: { -readonly [K in keyof MarkCounts]: MarkCounts[K] } = {}
  const letters = Array.from({ length: samples }, () => '-')
  const read = db.prepare(
    'SELECT position, kind FROM marks WHERE thread = ? AND position <= ? ORDER BY position DESC LIMIT ?',
  )
  let left = mostMarks
  for (const { row, last } of partsOf(rows, thread).toReversed()) {
    const found = left > 0 ? read.all(row.n, last, left) : []
    left -= found.length
    for (const { position, kind } of found) {
      const letter = String(kind)
      if (!isName(letter)) continue
      const name = names[letter]
      marks[name] = (marks[name] ?? 0) + 1
      const sample = Math.floor((Number(position) * samples) / (thread.last + 1))
      if (letters[sample] === '-') letters[sample] = letter
    }
  }
  return { marks, curveMarks: letters.join('') }
}
