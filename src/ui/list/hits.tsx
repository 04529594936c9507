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

/** More hits are in the conversations below. */
const most = 8

/** Where it was said, over all conversations. Nothing, where the server cannot search. */
export const Hits = ({ source, q }: { readonly source: Source; readonly q: string }) => {
  const path = `/search${queryOf({ q, limit: most })}`
  const { value, error } = useFetched<{ readonly items: readonly Hit[]; readonly next?: unknown }>(
    source,
    path,
  )
  if (error !== undefined || !value || value.items.length === 0) return null
  return (
    <section class="found" aria-label="Where it was said">
      {value.items.map(({ conversation, position, kind, excerpt, now }) => (
        <a
          key={`${conversation} ${position}`}
          class="hit"
          href={hrefs.conversation(conversation, { at: position, sel: position, find: q })}
        >
          <span class="figures">
            <bdi>{conversation}</bdi> <span class="faint">at {number(position)}</span>
          </span>
          <span class="excerpt" dir="auto">
            <Exact text={excerpt.before} />
            <mark>
              <Exact text={excerpt.match} />
            </mark>
            <Exact text={excerpt.after} />
          </span>
          <span class="faint">
            {kindOf(kind)} · {wordsOf(kind, now)}
          </span>
        </a>
      ))}
      {value.next !== undefined && <p class="faint">and more, in the conversations below</p>}
    </section>
  )
}

const wordsOf = (kind: string, now: State): string => {
  if (now.state === 'shown') return 'in context'
  if (kind === 'K' && now.state === 'hidden') return `replaced by ${now.by}`
  return now.state === 'hidden' ? `hidden by ${now.by}` : `abandoned by ${now.by}`
}
