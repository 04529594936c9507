import type { ComponentChildren, VNode } from 'preact'
import type { ApiSource } from '../source/source.ts'
import { Failed, Skeleton, useFetched } from '../states.tsx'
import { hrefs } from '../url.ts'
import { count, number } from '../words.ts'
import type { WhyResponse } from '../source/answers.ts'
import type { ApiPath } from '../../server/client/api-path.ts'
import { Needed } from './needed.tsx'
import { beforeText, causeOf, describeDerived, type Group, groupsOf } from './why.ts'

interface WhyViewProps {
  readonly source: ApiSource
  readonly id: string
  readonly path: ApiPath<'/conversations/{id}/calls/{call}/why'>
}

/**
 * Shows why the model saw what it saw: which terms from hidden messages its reply mentions, what changed since the previous call, and
 * which messages were hidden.
 */
export const WhyView = ({ source, id, path }: WhyViewProps) => {
  const { value, error, retry } = useFetched(source, path)
  if (error !== undefined) return <Failed error={error} retry={retry} />
  if (!value) return <Skeleton />
  const { shown, tokens, abandoned, before, derived } = value
  const to: To = (at) => (
    <a key={at} class="figures" href={hrefs.conversation(id, { at })}>
      {number(at)}
    </a>
  )
  return (
    <div class="why-call">
      {derived && <p class="faint">{describeDerived(derived)}</p>}
      <section>
        <h2>Referenced but hidden</h2>
        {value.needed.length === 0 ? (
          <p class="faint">The answer contains no terms that occur only in hidden messages.</p>
        ) : (
          <Needed id={id} needed={value.needed} />
        )}
      </section>
      <Part
        title={before === undefined ? 'What it was shown' : `Changed since ${beforeText(before)}`}
        lines={changesIn(value, to)}
      >
        {before === undefined && 'There is no call before it to compare with. '}
        {count(shown.length, 'item')} shown, {count(tokens, 'token')} in all
      </Part>
      <Part
        title="Hidden then"
        lines={value.hidden.map(({ by, kind, messages, tokens: own }) => (
          <li key={by}>
            {count(messages, 'message')} {kind} by {to(by)}
            <Tokens of={own} />
          </li>
        ))}
      >
        {value.hidden.length === 0 && 'Nothing was condensed or truncated. '}
        {abandoned > 0 && `${count(abandoned, 'message')} of abandoned branches, which it never sees`}
      </Part>
    </div>
  )
}

/** Returns a link to a position. */
type To = (at: number) => VNode

interface PartProps {
  readonly title: string
  readonly lines: readonly VNode[]
  readonly children: ComponentChildren
}
const Part = ({ title, lines, children }: PartProps) => (
  <section>
    <h2>{title}</h2>
    {lines.length > 0 && <ul>{lines}</ul>}
    <p class="faint">{children}</p>
  </section>
)

const Tokens = ({ of }: { readonly of: number }) => <span class="faint figures"> · {count(of, 'token')}</span>

const changesIn = ({ differences, configuration, repairs }: WhyResponse, to: To): readonly VNode[] => [
  ...groupsOf(differences).map((group) => groupLine(group, to)),
  ...(configuration
    ? [
        <li key="configuration">
          {configuration.fields.join(', ')} changed
          {configuration.event !== undefined && [' by ', to(configuration.event)]}
        </li>,
      ]
    : []),
  ...repairs
    .filter(({ isNew }) => isNew)
    .map(({ kind, position, detail }) => (
      <li key={`${kind} ${position}`}>
        <span aria-hidden="true">⚒ </span>
        {to(position)} repaired: {detail}
      </li>
    )),
]

const groupLine = (group: Group, to: To): VNode => {
  const { change, kind, first, last, items, tokens, event } = group
  const what = items === 1 ? kind : count(items, kind, kind === 'summary' ? 'summaries' : `${kind}s`)
  return (
    <li key={`${change} ${first}`}>
      <span class={change} aria-hidden="true">
        {change === 'appeared' ? '+' : '−'}
      </span>{' '}
      {what} {to(first)}
      {items > 1 && ['–', to(last)]} {change}, {causeOf(group)}
      {event !== undefined && [' ', to(event)]}
      <Tokens of={tokens} />
    </li>
  )
}
