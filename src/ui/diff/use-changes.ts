import { compareRows, type CompareItem } from '../compare/rows.ts'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { apiOf, queryOf } from '../url.ts'
import type { ExcerptEntry } from './excerpt.ts'
import type { DiffRowChange } from './rows.ts'

interface Ends {
  readonly from: number
  readonly to: number | undefined
  readonly other: string | undefined
}

/** So much of each text is enough for a line, or for the words of an edit. */
const clip = 2_000

/** The changes between two positions; of two conversations by what both have, as a fork has its parent's messages: `sides` says how much of each was there to compare. @param isAsked whether they are wanted */
export const useChanges = (source: ApiSource, id: string, { from, to, other }: Ends, isAsked = true) => {
  const isKnown = isAsked && to !== undefined
  const ofOne = `${apiOf(id)}/diff${queryOf({ from, to, clip })}`
  const path = (of: string, at: number | undefined) =>
    `${apiOf(of)}/effective${queryOf({ at, limit: 1_000, clip })}`
  const one = useFetched<{ readonly changes: readonly DiffRowChange<ExcerptEntry>[] }>(
    source,
    other === undefined && isKnown ? ofOne : undefined,
  )
  const left = useFetched<Shown>(source, other === undefined || !isAsked ? undefined : path(id, from))
  const right = useFetched<Shown>(source, other === undefined || !isAsked ? undefined : path(other, to))
  if (other === undefined) return { ...one, changes: one.value?.changes, sides: [] }
  const changes = left.value && right.value ? changesOf(left.value.items, right.value.items) : undefined
  const retry = (): void => {
    left.retry()
    right.retry()
  }
  const sides = [
    { id, shown: left.value },
    { id: other, shown: right.value },
  ]
  return { changes, sides, error: left.error ?? right.error, isBusy: left.isBusy || right.isBusy, retry }
}

interface Shown {
  readonly items: readonly (CompareItem & ExcerptEntry)[]
  readonly total: number
}

const changesOf = (left: Shown['items'], right: Shown['items']): readonly DiffRowChange<ExcerptEntry>[] =>
  compareRows(left, right).flatMap((row): readonly DiffRowChange<ExcerptEntry>[] => {
    if (row.kind === 'same') return row.items.map((entry) => ({ change: 'kept', entry }))
    return [
      ...row.left.map((entry) => ({ change: 'disappeared', entry }) as const),
      ...row.right.map((entry) => ({ change: 'appeared', entry }) as const),
    ]
  })
