import type { ApiSource } from '../../source/source.ts'
import type { OutlineResponse, OverviewResponse } from '../../source/answers.ts'
import { type StepKind, stepFrom } from '../steps.ts'
import { part } from './part.ts'
import { apiOf } from '../../url.ts'

interface Far {
  readonly outline: OutlineResponse
  readonly overview: OverviewResponse | undefined
  readonly kind: StepKind
  readonly by: 1 | -1
}

/** Finds the next position of a kind outside the loaded part of the outline; undefined if no such position exists. */
export const stepFar = async (
  source: ApiSource,
  id: string,
  { outline, overview, kind, by }: Far,
): Promise<number | undefined> => {
  let { from, to } = outline
  for (;;) {
    const next = by > 0 ? to + 1 : from - 1
    if (next < 0 || next > outline.last) return undefined
    // The overview shows which ranges contain no markers or rewinds; they are skipped.
    const begin = overview ? beginOf(overview, kind, next, by) : next
    if (begin === undefined) return undefined
    from = by > 0 ? begin : Math.max(0, begin - part)
    to = by > 0 ? Math.min(outline.last, begin + part) : begin
    const got = await source.get(apiOf(id, '/outline', { from, to }))
    const found = stepFrom(got, by > 0 ? from - 1 : to + 1, kind, by)
    if (found !== undefined) return found
  }
}

/** Returns the nearest position, in the given direction, at which the overview may have the kind; undefined if it has none. */
const beginOf = (
  { first, markers, rewinds, failed, last }: OverviewResponse,
  kind: StepKind,
  position: number,
  by: 1 | -1,
): number | undefined => {
  if (kind === 'turn' || kind === 'call') return position
  const ends = first.map((_, index) => (first[index + 1] ?? last + 1) - 1)
  const columns = kind === 'error' ? [failed] : kind === 'marker' ? [markers] : [markers, rewinds]
  const isMarked = (index: number): boolean => columns.some((column) => (column[index] ?? 0) > 0)
  if (by > 0) {
    const index = ends.findIndex((end, part_) => end >= position && isMarked(part_))
    return index < 0 ? undefined : Math.max(position, first[index] ?? 0)
  }
  const index = first.findLastIndex((begin, part_) => begin <= position && isMarked(part_))
  return index < 0 ? undefined : Math.min(position, ends[index] ?? 0)
}
