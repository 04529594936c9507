import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ConversationEvent } from '../../core.ts'
import { type Action, keymap, formatKey } from '../keys.ts'
import type { MarkerStoryResponse } from '../source/answers.ts'
import { Failed, useFetched, useRested } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { type Handlers, perform } from '../use-keys.ts'
import { brief, count, kindOf, moment, number, percent, placeOf, size, workspaceText } from '../words.ts'
import { ContinueIn } from './continue-in.tsx'
import type { Here } from './here.ts'
import type { Live } from './live.ts'
import { tokensAround } from './row-parts.tsx'
import { type HistoryRow, stateOf } from './rows.ts'
import { Lost, Place, type PlaceLinks } from './story.tsx'

interface InspectorProps {
  readonly here: Here
  /** Last event, if it was received over the live connection and therefore need not be requested. */
  readonly newest: Live['newest']
  readonly possible: Handlers
  /** Reason why the user cannot write; undefined if writing is enabled. */
  readonly off: string | undefined
  /** Selected row; undefined without a selection. */
  readonly row: HistoryRow | undefined
  /** Story of the selected marker. */
  readonly story: MarkerStoryResponse | undefined
  readonly reveal: (position: number) => void
}

export const Inspector = ({ here, newest, possible, off, row, story, reveal }: InspectorProps) => {
  const { source, conversation, selected: position, outline } = here
  // While the position moves, the outline is detailed enough.
  const rested = useRested(position, 250)
  const isTold = (of: number): boolean => (newest === 'coming' ? of === here.last : newest?.position === of)
  const path =
    rested === undefined || rested < 0 || isTold(rested)
      ? undefined
      : apiOf(conversation, '/events', { from: rested, limit: 1, clip: 200 })
  const { value, error, retry } = useFetched(source, path)
  const [found] = value?.items ?? []
  const told = newest === 'coming' ? undefined : newest
  const event = [found, told].find((one) => one?.position === position)
  const time = event?.metadata.time ?? outline?.times[position - outline.from]
  const index = position - (outline?.from ?? 0)
  const letter = outline?.kinds[index]
  const state = row && stateOf(row)
  const links = { conversation, reveal }
  return (
    <aside class="inspector" aria-label="Inspector">
      <h2>
        <bdi class="figures">{placeOf(position)}</bdi>{' '}
        {letter !== undefined && <span class="faint">{kindOf(letter)}</span>}
      </h2>
      {error !== undefined && <Failed error={error} retry={retry} />}
      {story && <Lost {...{ story, links }} />}
      {story && <h3>What it did</h3>}
      <dl>
        {row?.kind === 'group' && <Did {...{ row, story, links, outline }} />}
        {state !== undefined && <Field name="state">{state}</Field>}
        {time !== undefined && <Field name="time">{moment(time)}</Field>}
        {outline?.sizes[index] !== undefined && <Field name="size">{size(outline.sizes[index])}</Field>}
        {outline?.tokens[index] !== undefined && (
          <Field name="context">about {brief(outline.tokens[index])} tokens after it</Field>
        )}
        {event?.metadata.erased && <Field name="erased">{moment(event.metadata.erased.time)}</Field>}
        {event && <Details event={event} />}
        {event && <Causes here={here} event={event} />}
      </dl>
      <Doing
        actions={looks.filter((action) => possible[action])}
        mayErase={possible.erase !== undefined}
        off={off}
      />
      {here.at >= 0 && <ContinueIn id={conversation} at={here.at} workspace={event?.metadata.workspace} />}
    </aside>
  )
}

interface DidProps {
  readonly row: Extract<HistoryRow, { readonly kind: 'group' }>
  readonly story: MarkerStoryResponse | undefined
  readonly links: PlaceLinks
  readonly outline: Here['outline']
}

/** Shows what a marker hides, with links, and how many later replies did without it. */
const Did = ({ row: { item, position }, story, links, outline }: DidProps) => {
  const { before, after } = tokensAround(outline, item)
  const first = Math.min(item.covers.first, item.covers.last)
  const failed = story?.failed.items[0]
  const replies = Array.from(outline?.from === 0 ? outline.kinds : '').flatMap((letter, index) =>
    letter === 'a' || letter === 'c' ? [index] : [],
  )
  const later = replies.filter((reply) => reply > position).length
  return (
    <>
      <Field name="tokens">
        {brief(before)} → {brief(after)} ({percent(after, before) || '0 %'} left)
      </Field>
      <Field name="hides">
        <Place links={links} position={first}>
          {count(item.messagesHidden, 'message')}
        </Place>
        {story && failed && (
          <>
            {', '}
            <Place links={links} position={failed.position}>
              {count(story.failed.count, 'error')}
            </Place>
          </>
        )}
      </Field>
      {replies.length > 0 && (
        <Field name="later">
          {number(later)} of {count(replies.length, 'reply', 'replies')}
        </Field>
      )}
    </>
  )
}

/** Actions that do not change the conversation, in display order. */
const looks: readonly Action[] = [
  'goToRow',
  'cover',
  'request',
  'why',
  'diff',
  'tokens',
  'bisect',
  'audit',
  'copyLink',
  'copyContent',
]
/** Actions that change the conversation. Each first opens a sheet that shows its effects. */
const acts: readonly Action[] = ['rewind', 'fork', 'condense', 'truncate', 'restore', 'undo']

interface DoingProps {
  readonly actions: readonly Action[]
  readonly mayErase: boolean
  readonly off: string | undefined
}
/** Shows the action buttons. Memoized, because they are the same at most positions. */
const Doing = ({ actions, mayErase, off }: DoingProps) =>
  useMemo(
    () => (
      <>
        <div class="doing">
          {actions.map((action) => (
            <Button key={action} action={action} />
          ))}
        </div>
        <div class="doing acts">
          {off !== undefined && <p class="faint">{off}</p>}
          {acts.map((action) => (
            <Button key={action} action={action} off={off} />
          ))}
          {mayErase && <Button action="erase" />}
        </div>
      </>
    ),
    [actions.join(), mayErase, off],
  )

interface ButtonProps {
  readonly action: Action
  readonly off?: string | undefined
}
const Button = ({ action, off }: ButtonProps) => (
  <button
    type="button"
    onClick={() => perform(action)}
    aria-disabled={off === undefined ? undefined : true}
    title={off}
  >
    {buttons[action] ?? keymap[action].does} <kbd>{formatKey(keymap[action].keys[0] ?? '')}</kbd>
  </button>
)

/**
 * Button labels that are shorter than the descriptions in the key table. They can omit the position, which is shown next to the
 * buttons.
 */
const buttons: Partial<Record<Action, string>> = {
  goToRow: 'Go here',
  request: 'Request',
  why: 'Why',
  diff: 'Diff with …',
  copyLink: 'Copy link',
  copyContent: 'Copy content',
  rewind: 'Rewind to here …',
  fork: 'Fork from here …',
  condense: 'Condense …',
  truncate: 'Truncate …',
  restore: 'Restore …',
  cover: 'Its marker',
  undo: 'Undo',
  erase: 'Erase …',
  audit: 'Audit',
  tokens: 'Tokens and cache',
  bisect: 'Bisect …',
}

const Field = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** Returns the positive numeric fields of a model call's usage, with readable names. */
const usageOf = (usage: unknown): readonly (readonly [string, number])[] =>
  typeof usage === 'object' && usage !== null
    ? Object.entries(usage).flatMap(([name, value]) =>
        typeof value === 'number' && value > 0
          ? [[name.replaceAll('_', ' ').replace(/ tokens$/, ''), value] as const]
          : [],
      )
    : []

const Details = ({ event }: { readonly event: ConversationEvent }) => {
  if (event.type === 'Truncated') return <Policy event={event} />
  if (event.type === 'Rewound') return <Field name="reason">{event.data.reason ?? 'none given'}</Field>
  if (event.type === 'Erased') return <Erasure data={event.data} />
  if (event.type === 'Configured')
    return event.data.model === undefined ? null : <Field name="model">{event.data.model}</Field>
  if (event.type !== 'MessageAppended' && event.type !== 'Condensed') return null
  const { origin } = event.data
  const usage = usageOf(origin?.usage)
  return (
    <>
      {event.type === 'Condensed' && <Policy event={event} />}
      {origin?.model !== undefined && <Field name="model">{origin.model}</Field>}
      {origin?.stopReason && <Field name="stopped">{origin.stopReason}</Field>}
      {usage.length > 0 && (
        <Field name="usage">
          {usage.map(([name, value]) => (
            <span key={name} class="usage figures">
              {name} {brief(value)}
            </span>
          ))}
        </Field>
      )}
      {origin?.requestId !== undefined && (
        <Field name="request id">
          <code>{origin.requestId}</code>
        </Field>
      )}
      {origin?.context && (
        <Field name="receipt">
          <code>{origin.context.digest.slice(0, 12)}…</code>
        </Field>
      )}
    </>
  )
}

type ErasedData = Extract<ConversationEvent, { readonly type: 'Erased' }>['data']

/** Names of the streams from which events may be erased. */
const erasedStreams = [
  ['events', 'events'],
  ['notes', 'notes'],
  ['turns', 'records of turns'],
  ['inbox', 'queued messages'],
] as const
/** Maximum number of ranges that are listed. */
const mostRanges = 20

/** Shows what an event erased, for whom, and why. */
const Erasure = ({ data }: { readonly data: ErasedData }) => (
  <>
    {erasedStreams.map(([stream, name]) => {
      const { ranges = [] } = data[stream] ?? {}
      if (ranges.length === 0) return null
      const some = ranges
        .slice(0, mostRanges)
        .map(({ first, last }) => (first === last ? first : `${first}–${last}`))
      const rest = ranges.length - some.length
      return (
        <Field key={stream} name={`erased ${name}`}>
          {[...some, ...(rest > 0 ? [`${number(rest)} more`] : [])].join(', ')}
        </Field>
      )
    })}
    {data.by !== undefined && <Field name="decided by">{data.by}</Field>}
    <Field name="reason">{data.reason ?? 'none given'}</Field>
  </>
)

const Policy = ({
  event: { data },
}: {
  readonly event: Extract<ConversationEvent, { readonly type: 'Condensed' | 'Truncated' }>
}) => (
  <>
    <Field name="covers">
      {count(data.messagesHidden, 'message')}, {number(data.tokens.before)} → {number(data.tokens.after)}{' '}
      tokens
    </Field>
    {data.policy && (
      <Field name="because">
        {number(data.policy.used)} {data.policy.of === 'context' ? 'tokens' : 'bytes'} &gt;{' '}
        {number(data.policy.allowed)}
      </Field>
    )}
  </>
)

/** Shows the actor of an event, the command that wrote it, and the ids of the events that it is related to. */
const Causes = ({ here, event }: { readonly here: Here; readonly event: ConversationEvent }) => {
  const { actor, commandId, $correlationId: correlation, $causationId: causation, workspace } = event.metadata
  const { conversation } = here
  const to = (position: number) => (
    <a href={hrefs.conversation(conversation, { at: position })}>{number(position)}</a>
  )
  const target =
    event.type === 'Rewound' ? event.data.to : event.type === 'Restored' ? event.data.marker : undefined
  return (
    <>
      <Field name="by">{actor.id === undefined ? actor.kind : `${actor.kind} ${actor.id}`}</Field>
      {target !== undefined && target >= 0 && (
        <Field name={event.type === 'Rewound' ? 'back to' : 'restores'}>{to(target)}</Field>
      )}
      {event.type === 'Forked' && (
        <Field name="fork of">
          <a href={hrefs.conversation(event.data.from.conversation, { at: event.data.from.position })}>
            {event.data.from.conversation}
          </a>
        </Field>
      )}
      <Field name="command">
        <code>{commandId}</code>
      </Field>
      {correlation !== undefined && (
        <Field name="belongs to">
          <code>{correlation}</code>
        </Field>
      )}
      {causation !== undefined && (
        <Field name="caused by">
          <code>{causation}</code>
        </Field>
      )}
      {workspace && <Field name="files">at {workspaceText(workspace)}</Field>}
    </>
  )
}
