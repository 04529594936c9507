import { Exact } from '../blocks/shown.tsx'
import type { Source } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { hrefs, queryOf } from '../url.ts'
import { kindOf, number } from '../words.ts'

/** What became of a hit: shown to the model, or not, by the event at a position. */
type State = { readonly state: 'shown' } | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

interface Hit {
  readonly conversation: string
  readonly position: number
  /** A letter, as in an outline. */
  readonly kind: string
  readonly excerpt: { readonly before: string; readonly match: string; readonly after: string }
  readonly now: State
  readonly then: State
}

/** A conversation whose title has the words. */
type TitleHit = Pick<Hit, 'conversation' | 'excerpt'>

interface Found {
  readonly titles: readonly TitleHit[]
  readonly items: readonly Hit[]
  readonly next?: unknown
}

/** More hits are in the conversations below. */
const most = 8

/** Where it was said, over all conversations. Nothing, where the server cannot search. */
export const Hits = ({ source, q }: { readonly source: Source; readonly q: string }) => {
  const path = `/search${queryOf({ q, limit: most })}`
  const { value, error } = useFetched<Found>(source, path)
  const { titles = [], items = [], next } = value ?? {}
  if (error !== undefined || titles.length + items.length === 0) return null
  return (
    <section class="found" aria-label="Where it was said">
      {titles.map(({ conversation, excerpt }) => (
        <a key={conversation} class="hit" href={hrefs.conversation(conversation)}>
          <span class="figures">
            <bdi>{conversation}</bdi>
          </span>
          <Marked {...excerpt} />
          <span class="faint">title</span>
        </a>
      ))}
      {items.map(({ conversation, position, kind, excerpt, now }) => (
        <a
          key={`${conversation} ${position}`}
          class="hit"
          href={hrefs.conversation(conversation, { at: position, sel: position, find: q })}
        >
          <span class="figures">
            <bdi>{conversation}</bdi> <span class="faint">at {number(position)}</span>
          </span>
          <Marked {...excerpt} />
          <span class="faint">
            {kindOf(kind)} · {wordsOf(kind, now)}
          </span>
        </a>
      ))}
      {next !== undefined && <p class="faint">and more, in the conversations below</p>}
    </section>
  )
}

const Marked = ({ before, match, after }: Hit['excerpt']) => (
  <span class="excerpt" dir="auto">
    <Exact text={before} />
    <mark>
      <Exact text={match} />
    </mark>
    <Exact text={after} />
  </span>
)

const wordsOf = (kind: string, now: State): string => {
  if (now.state === 'shown') return 'in context'
  if (kind === 'K' && now.state === 'hidden') return `replaced by ${now.by}`
  return now.state === 'hidden' ? `hidden by ${now.by}` : `abandoned by ${now.by}`
}
