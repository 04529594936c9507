import { useEffect, useRef, useState } from 'preact/hooks'
import { Exact } from '../blocks/shown.tsx'
import type { Source } from '../source/source.ts'
import { problemOf } from '../source/source.ts'
import { apiOf, queryOf } from '../url.ts'
import { count, kindOf, number } from '../words.ts'

type State = { readonly state: 'shown' } | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

/** A place at which the words are. */
export interface Hit {
  readonly position: number
  readonly kind: string
  readonly excerpt: { readonly before: string; readonly match: string; readonly after: string }
  /** In the context of now, and of the next reply then. */
  readonly now: State
  readonly then: State
}
interface Found {
  readonly items: readonly Hit[]
  readonly next?: string | undefined
  /** The last position that was looked at. */
  readonly indexed?: number | undefined
}
export interface Hits {
  readonly hits: readonly Hit[]
  readonly hasMore: boolean
  readonly error: unknown
  readonly isBusy: boolean
}

const none: Hits = { hits: [], hasMore: false, error: undefined, isBusy: false }

/** Where words are in a conversation, by position. */
export const useHits = (source: Source, id: string, words: string | undefined): Hits => {
  const [state, setState] = useState(none)
  useEffect(() => {
    if (words === undefined) {
      setState(none)
      return undefined
    }
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      try {
        const path = `${apiOf(id)}/search${queryOf({ q: words, limit: 200 })}`
        const { items, next } = await source.get<Found>(path, { signal: asking.signal })
        const hits = items.toSorted((one, other) => one.position - other.position)
        setState({ hits, hasMore: next !== undefined, error: undefined, isBusy: false })
      } catch (error) {
        if (!asking.signal.aborted) setState({ ...none, error })
      }
    }
    setState((before) => ({ ...before, isBusy: true }))
    const timer = setTimeout(() => void ask(), 150)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, words])
  return state
}

/** So many characters before what was found are shown everywhere. */
const near = 16

const stateWords = (kind: string, state: State): string => {
  if (state.state === 'shown') return 'yes'
  if (state.state === 'abandoned') return `no, abandoned by ${state.by}`
  return kind === 'K' ? `no, replaced by ${state.by}` : `as part of ${state.by}`
}

interface SearchProps extends Hits {
  readonly words: string
  /** How many times somebody has asked for it: the field then takes the focus. */
  readonly asked: number
  readonly current: number
  readonly onInput: (words: string) => void
  readonly onGo: (hit: Hit) => void
  readonly onStep: (by: 1 | -1) => void
  readonly onClose: () => void
}

/** The field, and what it has found. */
export const Search = ({
  words,
  asked,
  hits,
  hasMore,
  error,
  isBusy,
  current,
  onInput,
  onGo,
  onStep,
  onClose,
}: SearchProps) => {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (asked > 0) field.current?.select()
  }, [asked])
  const index = hits.findIndex(({ position }) => position === current)
  return (
    <search class="search">
      <div class="search-field">
        <input
          type="search"
          aria-label="Search in this conversation"
          placeholder="Search in this conversation"
          value={words}
          ref={field}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onClose()
            if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1)
          }}
        />
        <span class="faint figures" role="status">
          {error !== undefined && problemOf(error).detail}
          {error === undefined &&
            words !== '' &&
            !isBusy &&
            (index < 0 ? '' : `${index + 1} of `) + count(hits.length, 'hit') + (hasMore ? ' and more' : '')}
        </span>
        <button type="button" class="quiet" onClick={onClose}>
          close <kbd>Esc</kbd>
        </button>
      </div>
      {hits.length > 0 && (
        <ol class="hits">
          {hits.map((hit) => (
            <li key={hit.position} class={hit.position === current ? 'current' : ''}>
              <button type="button" onClick={() => onGo(hit)}>
                <bdi class="figures faint">{number(hit.position)}</bdi>
                <span class="kind">{kindOf(hit.kind)}</span>
                <span class="excerpt" dir="auto">
                  {/* On a narrow screen, what was found is not pushed out of it. */}
                  <span class="far">
                    <Exact text={hit.excerpt.before.slice(0, -near)} />
                  </span>
                  <Exact text={hit.excerpt.before.slice(-near)} />
                  <mark>
                    <Exact text={hit.excerpt.match} />
                  </mark>
                  <Exact text={hit.excerpt.after} />
                </span>
                <span class="faint">
                  in context then: {stateWords(hit.kind, hit.then)} · now: {stateWords(hit.kind, hit.now)}
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </search>
  )
}
