import { compareRows } from '../compare/rows.ts'
import type { DiffResponse, EffectiveResponse } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import type { ExcerptEntry } from './excerpt.ts'
import type { DiffRowChange } from './rows.ts'
import { apiOf } from '../url.ts'

interface Ends {
  readonly from: number
  readonly to: number | undefined
  readonly other: string | undefined
}

/** Number of characters fetched of each text: enough for one line, or for the word-by-word comparison of an edit. */
const clip = 2_000

/**
 * Returns the changes between two positions. Two conversations are compared by their common items, because a fork shares its parent's
 * messages. `sides` then has the part of each history that was compared.
 *
 * @param isAsked true to fetch the changes
 */
export const useChanges = (source: ApiSource, id: string, { from, to, other }: Ends, isAsked = true) => {
  const isKnown = isAsked && to !== undefined
  const ofOne = apiOf(id, '/diff', { from, to, clip })
  const path = (of: string, at: number | undefined) => apiOf(of, '/effective', { at, limit: 1_000, clip })
  const one = useFetched(source, other === undefined && isKnown ? ofOne : undefined)
  const left = useFetched(source, other === undefined || !isAsked ? undefined : path(id, from))
  const right = useFetched(source, other === undefined || !isAsked ? undefined : path(other, to))
  if (other === undefined) return { ...one, changes: effectiveChanges(one.value), sides: [] }
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

type Items = EffectiveResponse['items']

/** Returns the changes from a diff of effective histories; undefined for any other diff. */
export const effectiveChanges = (
  answer: DiffResponse | undefined,
): readonly DiffRowChange<ExcerptEntry>[] | undefined =>
  answer && !('of' in answer) ? answer.changes : undefined

const changesOf = (left: Items, right: Items): readonly DiffRowChange<ExcerptEntry>[] =>
  compareRows(left, right).flatMap((row): readonly DiffRowChange<ExcerptEntry>[] => {
    if (row.kind === 'same') return row.items.map((entry) => ({ change: 'kept', entry }))
    return [
      ...row.left.map((entry) => ({ change: 'disappeared', entry }) as const),
      ...row.right.map((entry) => ({ change: 'appeared', entry }) as const),
    ]
  })
