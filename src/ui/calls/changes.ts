import type { DiffResponse, ShownEntry } from '../source/answers.ts'

// What a request shows beside the request before it on the same path, as rows.

export type RequestRow =
  | {
      readonly type: 'kept' | 'gone'
      readonly first: number
      readonly last: number
      readonly entries: readonly ShownEntry[]
    }
  | { readonly type: 'new'; readonly entry: ShownEntry }

type EffectiveDiff = Extract<DiffResponse, { readonly changes: readonly { readonly entry: ShownEntry }[] }>

/** Groups neighbours that stayed, and those that went for the same reason; each new entry is a row of its own. */
export const requestRows = ({ changes }: Pick<EffectiveDiff, 'changes'>): readonly RequestRow[] => {
  const rows: RequestRow[] = []
  for (const { change, entry } of changes) {
    const last = rows.at(-1)
    if (change === 'appeared') rows.push({ type: 'new', entry })
    else {
      const type = change === 'kept' ? 'kept' : 'gone'
      const isSame = last?.type === type && (type === 'kept' || last.entries[0]?.by === entry.by)
      if (isSame && 'entries' in last)
        rows[rows.length - 1] = {
          type,
          first: Math.min(last.first, entry.position),
          last: Math.max(last.last, entry.position),
          entries: [...last.entries, entry],
        }
      else rows.push({ type, first: entry.position, last: entry.position, entries: [entry] })
    }
  }
  return rows
}
