import { useEffect, useState } from 'preact/hooks'
import type { Excerpt } from '../../../core.ts'
import type { SearchHitRow } from '../../source/answers.ts'
import type { ApiSource } from '../../source/source.ts'
import { apiOf } from '../../url.ts'

export interface SearchState {
  /** Hits in ascending order of position. */
  readonly hits: readonly SearchHitRow[]
  readonly title: Excerpt | undefined
  /** Completeness of the hits. `all`: there are no others; `more`: others exist; `so far`: the search continues. */
  readonly extent: 'all' | 'more' | 'so far'
  readonly error: unknown
  /** True while the hits still belong to the previous query. */
  readonly isStale: boolean
}

/** Maximum number of hits; the newest ones are kept. */
export const mostHits = 200
/** Delay between the last keystroke and the search, in milliseconds. */
const pause = 150

const none: SearchState = { hits: [], title: undefined, extent: 'all', error: undefined, isStale: false }

/**
 * Returns the hits of a search in a conversation. If a response covers only a part of the conversation, the search continues with the
 * next part.
 */
export const useHits = (source: ApiSource, id: string, words: string | undefined): SearchState => {
  const [state, setState] = useState(none)
  useEffect(() => {
    if (words === undefined) {
      setState(none)
      return undefined
    }
    const asking = new AbortController()
    const { signal } = asking
    const ask = async (found: SearchState, cursor?: string): Promise<void> => {
      const limit = mostHits - found.hits.length
      const path = apiOf(id, '/search', { q: words, limit, cursor })
      const { titles, items, next } = await source.get(path, { signal })
      const hits = [...found.hits, ...items].toSorted((one, other) => one.position - other.position)
      const isFull = hits.length >= mostHits
      const extent = next === undefined ? 'all' : isFull ? 'more' : 'so far'
      const now = { ...found, hits, title: found.title ?? titles[0]?.excerpt, extent } as const
      setState(now)
      if (extent === 'so far') await ask(now, next)
    }
    const failed = (error: unknown): void => {
      if (!signal.aborted) setState((before) => ({ ...(before.isStale ? none : before), error }))
    }
    setState((before) => ({ ...before, isStale: true }))
    const timer = setTimeout(() => void ask(none).catch(failed), pause)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, words])
  return state
}

/**
 * Describes the number of hits.
 *
 * @param index index of the current hit; -1 if no hit is current
 */
export const tally = ({ hits, title, extent }: SearchState, index: number): string => {
  const place = index < 0 ? '' : `${index + 1} of `
  const hitsOf = hits.length === 1 ? 'hit' : 'hits'
  if (extent === 'more') return `${place}more than ${hits.length} hits`
  if (extent === 'so far') return `${place}${hits.length} ${hitsOf} so far`
  if (title && hits.length === 0) return 'only in the title'
  if (hits.length === 0) return '0 hits: try fewer or other words'
  return `${place}${hits.length} ${hitsOf}${title ? ', and the title' : ''}`
}
