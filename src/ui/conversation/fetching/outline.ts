import { useEffect, useState } from 'preact/hooks'
import { tellAbout } from '../../head/about.ts'
import type { ApiSource } from '../../source/source.ts'
import type { OutlineResponse, OverviewResponse } from '../../source/answers.ts'
import { covers, firstLook, joinOutlines, rangeOf, wholeOutline } from './part.ts'
import { apiOf } from '../../url.ts'

export interface OutlineState {
  readonly outline: OutlineResponse | undefined
  readonly overview: OverviewResponse | undefined
  readonly error: unknown
  readonly again: () => void
  /** Updates the position of the last event after new events were written. */
  readonly grown: (last: number) => void
  readonly last: number | undefined
}

/**
 * Returns the outline of a conversation, kept up to date, and its overview if it is long. For a long conversation, only the part of the
 * outline around position `at` is loaded.
 */
export const useOutline = (source: ApiSource, id: string, at: number | undefined): OutlineState => {
  const [outline, setOutline] = useState<OutlineResponse>()
  const [overview, setOverview] = useState<OverviewResponse>()
  const [last, setLast] = useState<number>()
  const [error, setError] = useState<unknown>()
  const [attempt, setAttempt] = useState(0)
  const end = last ?? outline?.last
  const around = at ?? end
  const isThere =
    outline !== undefined && around !== undefined && end !== undefined && covers(outline, around, end)
  useEffect(() => {
    if (isThere || around === undefined) return undefined
    const asking = new AbortController()
    const { signal } = asking
    const ask = async (): Promise<void> => {
      const { from, to } = rangeOf(around, end)
      const grows = outline && end !== undefined && end < wholeOutline && outline.from === 0
      const wanted = { from: grows ? outline.to + 1 : from, to }
      const got = await source.get(apiOf(id, '/outline', { ...wanted, about: true }), { signal })
      if (got.about) tellAbout(got.about)
      const next = grows ? joinOutlines(outline, got) : got
      setOutline(next)
      setLast((before) => Math.max(before ?? -1, got.last))
      setError(undefined)
      if (got.problem !== undefined) return
      // The index is still catching up, or this was the first response for a long conversation.
      if (got.to < Math.min(to, got.last) || (around ?? got.last) > got.to)
        setTimeout(() => signal.aborted || setAttempt(attempt + 1), got.indexed === undefined ? 0 : 250)
    }
    const timer = setTimeout(
      () => ask().catch((problem: unknown) => signal.aborted || setError(problem)),
      outline ? 60 : 0,
    )
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, isThere, isThere ? 0 : around, isThere ? 0 : end, attempt])

  const isLong = end !== undefined && end >= firstLook
  // While a conversation grows, its overview is fetched again every 500 events.
  const size = isLong ? Math.floor(end / Math.max(100, firstLook / 4)) : undefined
  useEffect(() => {
    if (!isLong) return undefined
    const asking = new AbortController()
    source
      .get(apiOf(id, '/overview', { buckets: 1_200 }), { signal: asking.signal })
      .then(setOverview, () => undefined)
    return () => asking.abort()
  }, [source, id, size])
  return {
    outline,
    overview,
    error,
    again: () => setAttempt(attempt + 1),
    last: end,
    grown: (to) => setLast((before) => Math.max(before ?? -1, to)),
  }
}
