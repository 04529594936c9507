import './needed.css'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { WhyResponse } from '../source/answers.ts'
import { hrefs } from '../url.ts'
import { number } from '../words.ts'

interface NeededProps {
  readonly id: string
  readonly needed: WhyResponse['needed']
}

/** Number of terms shown at first, the rarest ones. */
const first = 10

/** Lists the terms of a reply that occurred only in hidden messages, rarest first. */
export const Needed = ({ id, needed }: NeededProps) => {
  const [isAll, setAll] = useState(false)
  const links = (positions: readonly number[]): ComponentChildren =>
    positions.map((at, index) => [
      index > 0 && ', ',
      <a key={at} class="figures" href={hrefs.conversation(id, { at, sel: at })}>
        {number(at)}
      </a>,
    ])
  return (
    <>
      <ul class="needed-terms">
        {needed.slice(0, isAll ? undefined : first).map(({ term, hidden, by, inSummary }) => (
          <li key={term} class={inSummary ? '' : 'lacking'}>
            <code>{term}</code> is in {links(hidden)}, hidden by {links(by)}
            <span class="faint"> · {inSummary ? 'a summary names it' : 'no summary names it'}</span>
          </li>
        ))}
      </ul>
      {needed.length > first && !isAll && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          {number(needed.length - first)} more
        </button>
      )}
    </>
  )
}
