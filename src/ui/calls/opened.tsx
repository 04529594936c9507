import { Blocks } from '../blocks/blocks.tsx'
import { describe, toolNames } from '../conversation/kinds.ts'
import { describeBreak } from '../investigate/breaks.ts'
import { Needed } from '../request/needed.tsx'
import { Reply } from '../request/reply.tsx'
import type { ShownEntry, WhyResponse } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { Failed, Skeleton, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { count, moment, number, shortDuration } from '../words.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import { type RequestRow, requestRows } from './changes.ts'
import { Sign } from './sign.tsx'
import { type CallRow, type CallTurn, latencyOf } from './turns.ts'

interface OpenedCallProps {
  readonly source: ApiSource
  readonly id: string
  readonly row: CallRow
  readonly turns: readonly CallTurn[]
}

/** Maximum number of characters of each text of a new message, before the user opens it. */
const clip = 700

/** Shows what a call was sent, with what is new since the call before on its path, and what was answered. */
export const OpenedCall = ({ source, id, row, turns }: OpenedCallProps) => {
  const { before, at, kind, position, name } = row
  const diff = useFetched(
    source,
    kind === 'reply' ? apiOf(id, '/diff', { from: before?.at ?? -1, to: Math.max(0, at), clip }) : undefined,
  )
  const hasWhy = source.isLive && kind === 'reply' && !row.model?.startsWith('<')
  const why = useFetched(
    source,
    hasWhy ? apiPathOf('/conversations/{id}/calls/{call}/why', { id, call: name }) : undefined,
  )
  const earlier = before && turns.flatMap(({ rows }) => rows).find((one) => one.position === before.position)
  return (
    <div class="inner">
      <TokensIn source={source} id={id} row={row} />
      <Attempts row={row} />
      <div class="sides">
        <section class="sent">
          <h3>
            {kind === 'summary' ? 'Request for a summary' : 'Request'}{' '}
            <span class="q">
              {before === undefined
                ? kind === 'reply' && 'the first on this path'
                : `since ${earlier?.number === undefined ? `the reply at ${number(before.position)}` : `call ${number(earlier.number)}`}, the one before on this path`}
            </span>
            <span class="views">
              <a href={hrefs.call(id, name)}>Reading</a> <a href={hrefs.call(id, name, 'json')}>JSON</a>{' '}
              <a href={hrefs.call(id, name, 'curl')}>curl</a>
            </span>
          </h3>
          {kind === 'summary' && (
            <p class="faint">
              The messages that the summary at {number(position)} replaced, with the instruction to summarize
              them: <a href={hrefs.call(id, name)}>read the request</a>.
            </p>
          )}
          {diff.error !== undefined && <Failed error={diff.error} retry={diff.retry} />}
          {kind === 'reply' && !diff.value && diff.error === undefined && <Skeleton rows={3} />}
          {diff.value && 'changes' in diff.value && (
            <Changes
              source={source}
              id={id}
              at={at}
              rows={requestRows(diff.value)}
              why={why.value}
              configuration={why.value?.configuration}
            />
          )}
        </section>
        <section class="answered">
          <Reply
            source={source}
            id={id}
            level="h3"
            call={{
              position,
              kind,
              origin: row.stopReason === undefined ? {} : { stopReason: row.stopReason },
            }}
            figures={[
              row.usage &&
                `${count(row.usage.output, 'token')}${row.isUnderstated ? ' as recorded, too few' : ''}`,
              latencyOf(row) !== undefined && shortDuration(latencyOf(row) ?? 0),
            ]}
          />
          {why.value && why.value.needed.length > 0 && (
            <>
              <h3>
                Referenced but hidden <span class="q">{number(why.value.needed.length)}</span>
              </h3>
              <Needed id={id} needed={why.value.needed} />
            </>
          )}
        </section>
      </div>
    </div>
  )
}

/** Shows the attempts that failed before a call was answered. */
const Attempts = ({ row: { attempts } }: Pick<OpenedCallProps, 'row'>) =>
  attempts.length === 0 ? null : (
    <section class="attempts" aria-label="Failed before">
      <h3>
        Failed before <span class="q">{count(attempts.length, 'attempt')}</span>
      </h3>
      <ol>
        {attempts.map(({ error, time }, index) => (
          <li key={index}>
            <Sign name="error" tone="error" /> {error}{' '}
            {time !== undefined && <span class="q">{moment(time)}</span>}
          </li>
        ))}
      </ol>
    </section>
  )

/** Shows the tokens of a request as a bar, and why the cache broke. */
const TokensIn = ({ source, id, row: { usage, position } }: Omit<OpenedCallProps, 'turns'>) => {
  const { value: cache } = useFetched(source, source.isLive ? apiOf(id, '/cache') : undefined)
  const broken = cache?.breaks.find((one) => one.position === position)
  if (!usage) return <p class="faint">The tokens of this call were not recorded.</p>
  const { input, fresh, written, read } = usage
  const shares = [
    ['read', read],
    ['written', written],
    ['fresh', fresh],
  ] as const
  return (
    <p class="tokens-in figures">
      <b>{number(input)} tokens in</b>
      <span class="shares" aria-hidden="true">
        {shares.map(
          ([kind, tokens]) => tokens > 0 && <span key={kind} class={kind} style={{ flexGrow: tokens }} />,
        )}
      </span>
      <span>
        {number(fresh)} new, {number(written)} written to the cache, {number(read)} read
      </span>
      {broken && (
        <Sign name="condensed" tone="condensed">
          <span>
            the cache broke: {describeBreak(broken)}
            {broken.event !== undefined && (
              <>
                {' '}
                at{' '}
                <a href={hrefs.conversation(id, { at: broken.event, sel: broken.event })}>
                  {number(broken.event)}
                </a>
              </>
            )}
          </span>
        </Sign>
      )}
    </p>
  )
}

interface ChangesProps {
  readonly source: ApiSource
  readonly id: string
  readonly at: number
  readonly rows: readonly RequestRow[]
  /** Explanation of the call, once it is loaded: the tokens of the rows. */
  readonly why: WhyResponse | undefined
  readonly configuration: WhyResponse['configuration']
}

/** Maximum number of new messages shown; the others are in the whole request. */
const most = 40

const Changes = ({ source, id, at, rows, why, configuration }: ChangesProps) => {
  const tokens = new Map(why?.shown.map((item) => [item.position, item.tokens]))
  const hidden = new Map(why?.hidden.map((part) => [part.by, part.tokens]))
  const names = toolNames(rows.flatMap((row) => (row.type === 'new' ? [row.entry] : row.entries)))
  const shown = rows.slice(-most)
  const to = (position: number) => hrefs.conversation(id, { at, sel: position })
  return (
    <>
      {configuration && (
        <div class="sent-row new">
          <span class="sign-of-row">+</span>
          <span class="pos">
            {configuration.event !== undefined && (
              <a href={to(configuration.event)}>{number(configuration.event)}</a>
            )}
          </span>
          <p>{configuration.fields.join(', ')} changed</p>
        </div>
      )}
      {why?.before !== undefined && !configuration && (
        <div class="sent-row kept">
          <span class="sign-of-row" />
          <span class="pos" />
          <p class="q">system, tools and settings: as before</p>
        </div>
      )}
      {rows.length > most && <p class="faint">{number(rows.length - most)} rows before these.</p>}
      {shown.map((row) =>
        row.type === 'new' ? (
          <div key={row.entry.position} class="sent-row new">
            <span class="sign-of-row" aria-label="new">
              +
            </span>
            <span class="pos">
              <a href={to(row.entry.position)}>{number(row.entry.position)}</a>
            </span>
            <div>
              <p class={`who tone-${describe(row.entry, names).tone}`}>
                {describe(row.entry, names).words} {describe(row.entry, names).tools}{' '}
                {tokens.has(row.entry.position) && (
                  <span class="q">+{count(tokens.get(row.entry.position) ?? 0, 'token')}</span>
                )}
              </p>
              <Content source={source} id={id} entry={row.entry} />
            </div>
          </div>
        ) : (
          <div key={`${row.type} ${row.first}`} class={`sent-row ${row.type}`}>
            <span class="sign-of-row" aria-label={row.type === 'gone' ? 'no longer sent' : undefined}>
              {row.type === 'gone' ? '−' : ''}
            </span>
            <span class="pos">
              <a href={to(row.type === 'gone' ? (row.entries[0]?.by ?? row.first) : row.first)}>
                {row.first === row.last ? number(row.first) : `${number(row.first)}–${number(row.last)}`}
              </a>
            </span>
            <p>
              {row.type === 'kept' ? (
                <Kept entries={row.entries} names={names} />
              ) : (
                <Gone id={id} row={row} hidden={hidden} />
              )}
            </p>
          </div>
        ),
      )}
      {rows.length === 0 && <p class="faint">The model was shown no messages.</p>}
    </>
  )
}

interface KeptProps {
  readonly entries: readonly ShownEntry[]
  readonly names: ReadonlyMap<string, string>
}

const Kept = ({ entries, names }: KeptProps) => {
  const [only] = entries
  if (entries.length > 1 || !only) return <span>{count(entries.length, 'message')}, as before</span>
  const { tone, words, tools } = describe(only, names)
  return (
    <>
      <b class={`who tone-${tone}`}>
        {words} {tools}
      </b>{' '}
      <span class="q">as before</span>
      <br />
      {beginningOf(only)}
    </>
  )
}

const beginningOf = (entry: ShownEntry): string => {
  const content =
    entry.kind === 'message'
      ? entry.content
      : entry.kind === 'summary'
        ? entry.messages.flatMap((said) => said.content)
        : []
  const text = content
    .map((block) => ('text' in block && typeof block.text === 'string' ? block.text : ''))
    .join(' ')
  return text.length > 140 ? `${text.slice(0, 139)}…` : text
}

interface GoneProps {
  readonly id: string
  readonly row: Extract<RequestRow, { readonly type: 'kept' | 'gone' }>
  readonly hidden: ReadonlyMap<number, number>
}

const Gone = ({ id, row, hidden }: GoneProps) => {
  const { status, by } = row.entries[0] ?? {}
  const tokens = by === undefined ? undefined : hidden.get(by)
  return (
    <>
      <b class="tone-condensed">{count(row.entries.length, 'message')}</b>{' '}
      {tokens !== undefined && <span class="q">−{count(tokens, 'token')}</span>} no longer sent
      {by !== undefined && (
        <>
          :{' '}
          {status === 'abandoned'
            ? 'abandoned by the rewind'
            : status === 'truncated'
              ? 'truncated'
              : 'hidden by the summary'}{' '}
          at <a href={hrefs.conversation(id, { at: by, sel: by })}>{number(by)}</a> ·{' '}
          <a href={hrefs.conversation(id, { at: by, open: [by], sel: by })}>show</a>
        </>
      )}
    </>
  )
}

interface ContentProps {
  readonly source: ApiSource
  readonly id: string
  readonly entry: ShownEntry
}
const Content = ({ source, id, entry }: ContentProps) => {
  if (entry.kind === 'truncation') return <p>A note that messages were cut.</p>
  const content = entry.kind === 'summary' ? entry.messages.flatMap((said) => said.content) : entry.content
  return (
    <Blocks
      source={source}
      of={{ conversation: id, position: entry.position }}
      content={content}
      cuts={entry.cuts}
      total={entry.blocks}
      isNamed
    />
  )
}
