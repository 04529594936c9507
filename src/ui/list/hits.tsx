import type { Excerpt } from '../../core.ts'
import type { HitVisibility } from '../source/answers.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { hrefs } from '../url.ts'
import { kindOf, number } from '../words.ts'

/** Maximum number of matching messages shown. The list below shows the conversations that contain further matches. */
const most = 8

/** Shows matching titles and messages from all conversations. Shows nothing if the server cannot search. */
export const Hits = ({ source, q }: { readonly source: ApiSource; readonly q: string }) => {
  const { value, error } = useFetched(source, apiPathOf('/search', {}, { q, limit: most }))
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

const Marked = ({ before, match, after }: Excerpt) => (
  <span class="excerpt" dir="auto">
    {before}
    <mark>{match}</mark>
    {after}
  </span>
)

const wordsOf = (kind: string, now: HitVisibility): string => {
  if (now.state === 'shown') return 'in context'
  if (kind === 'K' && now.state === 'hidden') return `replaced by ${now.by}`
  return now.state === 'hidden' ? `hidden by ${now.by}` : `abandoned by ${now.by}`
}
