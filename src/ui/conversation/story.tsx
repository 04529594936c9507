import { type ComponentChildren, Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { MarkerStoryResponse } from '../source/answers.ts'
import { hrefs } from '../url.ts'
import { count, number } from '../words.ts'
import { shortPathsOf } from './short-paths.ts'

// What a marker hid and what its summary lost. Every line and count is a link to its events.

/** Conversation whose positions are linked, and the function that shows one. */
export interface PlaceLinks {
  readonly conversation: string
  readonly reveal: (position: number) => void
}

interface PlaceProps {
  readonly links: PlaceLinks
  readonly position: number
  readonly children?: ComponentChildren
  readonly label?: string
}

/** Links to a position. A click opens what hides it and scrolls to it; in a new tab, the link leads to the position. */
export const Place = ({ links, position, children, label }: PlaceProps) => (
  <a
    class="place-link"
    href={hrefs.conversation(links.conversation, { at: position })}
    aria-label={label}
    onClick={(event) => {
      event.stopPropagation()
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      links.reveal(position)
    }}
  >
    {children ?? number(position)}
  </a>
)

const Places = ({
  links,
  of,
  most = 4,
}: {
  readonly links: PlaceLinks
  readonly of: readonly number[]
  readonly most?: number
}) => (
  <>
    {[...new Set(of)].slice(0, most).map((position, index) => (
      <Fragment key={position}>
        {index > 0 && ', '}
        <Place links={links} position={position} />
      </Fragment>
    ))}
    {new Set(of).size > most && ', …'}
  </>
)

interface PartProps<T> {
  readonly title: string
  readonly links: PlaceLinks
  /** The count in words: `3 results`. */
  readonly total: string
  readonly first: number | undefined
  readonly items: readonly T[]
  readonly most: number
  readonly line: (item: T) => ComponentChildren
}

/** Shows a part of the story: its count, and the first lines; a button shows the others. */
const Part = <T,>({ title, links, total, first, items, most, line }: PartProps<T>) => {
  const [isAll, setAll] = useState(false)
  if (items.length === 0 || first === undefined) return null
  const rest = items.length - most
  return (
    <section>
      <h3>
        {title}{' '}
        <Place links={links} position={first}>
          {total}
        </Place>
      </h3>
      <ul>
        {(isAll ? items : items.slice(0, most)).map((item, index) => (
          <li key={index}>{line(item)}</li>
        ))}
      </ul>
      {rest > 0 && (
        <button
          type="button"
          class="link"
          onClick={(event) => {
            event.stopPropagation()
            setAll(!isAll)
          }}
        >
          {isAll ? 'fewer' : `${number(rest)} more`}
        </button>
      )}
    </section>
  )
}

const pathsIn = ({ changed, reread, lost }: MarkerStoryResponse): readonly string[] =>
  [...changed.items, ...reread.items].map(({ path }) => path).concat(lost.items.map(({ term }) => term))

interface StoryProps {
  readonly story: MarkerStoryResponse
  readonly links: PlaceLinks
}

/** Shows what happened in the hidden messages: what was asked, failed and changed, and the steps. */
export const Story = ({ story, links }: StoryProps) => {
  const { asked, failed, changed, steps, examined, messages } = story
  const short = shortPathsOf(pathsIn(story))
  return (
    <div class="story">
      <Part
        title="Asked"
        {...{ links }}
        total={count(asked.count, 'message')}
        first={asked.items[0]?.position}
        items={asked.items}
        most={3}
        line={({ position, text }) => (
          <>
            <span class="asked">{text}</span> <Place links={links} position={position} />
          </>
        )}
      />
      <Part
        title="Failed"
        {...{ links }}
        total={count(failed.count, 'result')}
        first={failed.items[0]?.position}
        items={failed.items}
        most={5}
        line={({ position, tool, text }) => (
          <>
            <span>
              {tool ?? 'tool'} · {text}
            </span>{' '}
            <Place links={links} position={position} />
          </>
        )}
      />
      <Part
        title="Changed"
        {...{ links }}
        total={count(changed.count, 'file')}
        first={changed.items[0]?.positions[0]}
        items={changed.items}
        most={5}
        line={({ path, edits, positions }) => (
          <>
            <code title={path}>{short(path)}</code>{' '}
            <Place links={links} position={positions[0] ?? 0}>
              {count(edits, 'edit')}
            </Place>
          </>
        )}
      />
      {steps.count > 0 && (
        <section>
          <h3>
            Steps{' '}
            <Place links={links} position={steps.items[0]?.positions[0] ?? 0}>
              {count(steps.count, 'tool call')}
            </Place>
          </h3>
          <p class="steps-of">
            {steps.items.slice(0, 8).map(({ tool, calls, positions }, index) => (
              <Fragment key={tool}>
                {index > 0 && ', '}
                <Place links={links} position={positions[0] ?? 0}>
                  {number(calls)} {tool}
                </Place>
              </Fragment>
            ))}
            {steps.items.length > 8 && `, ${number(steps.items.length - 8)} other tools`}
          </p>
        </section>
      )}
      {examined.hidden < messages && (
        <p class="faint">
          Of {number(examined.hidden)} of the {count(messages, 'message')}: the rest is too long to be read
          for this.
        </p>
      )}
    </div>
  )
}

/** Number of lost names that are shown at first. */
const mostLost = 6

/** Shows the names that the summary lost, and the files that were read again. */
export const Lost = ({ story, links }: StoryProps) => {
  const [isAll, setAll] = useState(false)
  const { lost, reread, kind, examined } = story
  const shown = isAll ? lost.items : lost.items.slice(0, mostLost)
  const short = shortPathsOf(pathsIn(story))
  const where = kind === 'condensed' ? 'not in the summary' : 'in no visible message'
  return (
    <div class="lost">
      <h3>
        {kind === 'condensed' ? 'Lost in the summary' : 'Lost'}{' '}
        {lost.items.length > mostLost ? (
          <button type="button" class="link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? `all ${number(lost.items.length)}` : `${mostLost} of ${number(lost.count)}`}
          </button>
        ) : (
          <span class="faint">{number(lost.count)}</span>
        )}
      </h3>
      <p class="faint">
        {lost.count > 0
          ? `Said before, used again later, ${where}. Rarest first.`
          : `No name in the hidden messages that is ${where} was used again.`}
        {!examined.isAll && ' Only a part was examined.'}
      </p>
      <ul>
        {shown.map(({ term, said, needed }) => (
          <li key={term}>
            <code title={term}>{short(term)}</code>
            <div>
              said at <Places links={links} of={said} /> · needed at <Places links={links} of={needed} />
            </div>
          </li>
        ))}
      </ul>
      {reread.items.length > 0 && (
        <>
          <h3>
            Read again <span class="faint">{number(reread.count)}</span>
          </h3>
          <ul>
            {reread.items.slice(0, isAll ? undefined : mostLost).map(({ path, read, again }) => (
              <li key={path}>
                <code title={path}>{short(path)}</code>
                <div>
                  read at <Places links={links} of={read} /> · again at <Places links={links} of={again} />
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
