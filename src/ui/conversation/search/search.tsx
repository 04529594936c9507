import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Excerpt } from '../../../core.ts'
import type { HitVisibility, SearchHitRow } from '../../source/answers.ts'
import { problemOf } from '../../source/source.ts'
import { kindOf, number } from '../../words.ts'
import type { SearchControls } from '../use-finding.ts'
import { tally } from './hits.ts'

/** Number of characters shown before a match even on narrow screens. */
const near = 16

const stateWords = (kind: string, state: HitVisibility): string => {
  if (state.state === 'shown') return 'yes'
  if (state.state === 'abandoned') return `no, abandoned by ${state.by}`
  return kind === 'K' ? `no, replaced by ${state.by}` : `as part of ${state.by}`
}

interface SearchProps {
  readonly finding: SearchControls
  readonly words: string
  readonly current: number
}

export const Search = ({ finding, words, current }: SearchProps) => {
  const { found, asked, close, goTo } = finding
  const { hits, title, error, isStale } = found
  const field = useRef<HTMLInputElement>(null)
  // A layout effect, because the next keystroke is meant for the field.
  useLayoutEffect(() => {
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
          onInput={(event) => finding.look(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') close()
            if (event.key === 'Enter') finding.step(event.shiftKey ? -1 : 1, current)
          }}
        />
        <span class="faint figures" role="status">
          {error !== undefined && problemOf(error).detail}
          {error === undefined && words !== '' && !isStale && tally(found, index)}
        </span>
        <button type="button" class="quiet" onClick={close}>
          close <kbd>Esc</kbd>
        </button>
      </div>
      {(hits.length > 0 || title) && (
        <ol class="hits">
          {title && (
            <li class="titled">
              <span />
              <span class="kind">title</span>
              <Marked {...title} />
            </li>
          )}
          {hits.map((hit) => (
            <li key={hit.position} class={hit.position === current ? 'current' : ''}>
              <button type="button" onClick={() => goTo(hit.position)}>
                <Found hit={hit} />
              </button>
            </li>
          ))}
        </ol>
      )}
    </search>
  )
}

const Found = ({ hit: { position, kind, excerpt, now, then } }: { readonly hit: SearchHitRow }) => (
  <>
    <bdi class="figures faint">{number(position)}</bdi>
    <span class="kind">{kindOf(kind)}</span>
    <Marked {...excerpt} />
    <span class="faint">
      in context then: {stateWords(kind, then)} · now: {stateWords(kind, now)}
    </span>
  </>
)

const Marked = ({ before, match, after }: Excerpt) => (
  <span class="excerpt" dir="auto">
    {/* Hidden on narrow screens, so that the match stays visible. */}
    <span class="far">{before.slice(0, -near)}</span>
    {before.slice(-near)}
    <mark>{match}</mark>
    {after}
  </span>
)
