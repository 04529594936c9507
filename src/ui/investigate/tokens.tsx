import '../acts/acts.css'
import './investigate.css'
import { useState } from 'preact/hooks'
import { CallLink } from '../call-link.tsx'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import { Bar, Empty, Failed, Skeleton, useAsked, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { brief, count, dollars, number, percent } from '../words.ts'
import { describeBreak } from './breaks.ts'
import { Curves } from './curves.tsx'
import {
  draftIn,
  isAsked,
  modes,
  type NumberField,
  type PolicyDraft,
  policyOf,
  queryFields,
  tighter,
  wrongIn,
} from './policy.ts'
import type { Break, CacheResponse, CostResponse, ReplayResponse, ReplayRow } from '../source/answers.ts'

/** Shows the tokens of a conversation's model calls, their cost, the breaks of the prompt cache, and the effect of another policy. */
export const TokensPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const path = apiOf(id, '/replay')
  const recorded = useAsked((signal) => source.post(path, {}, { signal }), [source, path])
  const cache = useFetched(source, apiOf(id, '/cache'))
  const cost = useFetched(source, apiOf(id, '/cost'))
  const calls = recorded.value?.calls ?? []
  const draft = draftIn(search, tighter(calls.map(({ tokens }) => tokens)))
  const policy = isAsked(search) ? policyOf(draft) : undefined
  const asked = JSON.stringify(policy)
  const replayed = useAsked(policy && ((signal) => source.post(path, { policy }, { signal })), [
    source,
    path,
    asked,
  ])
  return (
    <>
      <Bar isBusy={recorded.isBusy || replayed.isBusy} />
      <main class="plain investigate">
        <h2 class="page-title">Tokens &amp; cost</h2>
        {recorded.error !== undefined && <Failed error={recorded.error} retry={recorded.retry} />}
        {!recorded.value && recorded.error === undefined && <Skeleton />}
        {recorded.value && calls.length === 0 && (
          <Empty title="No call of a model is recorded">
            <p class="faint">Only replies that name their model are shown here.</p>
          </Empty>
        )}
        {recorded.value && calls.length > 0 && (
          <>
            <p class="faint figures">{sumsOf(recorded.value, cache.value, cost.value)}</p>
            <Curves
              id={id}
              last={calls.at(-1)?.position ?? 0}
              recorded={calls}
              replayed={policy && replayed.value?.calls}
              breaks={cache.value?.breaks ?? []}
            />
            {cache.error !== undefined && <Failed error={cache.error} retry={cache.retry} />}
            {cache.value && <Breaks id={id} report={cache.value} />}
            <section>
              <h2>Another policy</h2>
              <PolicyForm key={search} id={id} draft={draft} isBusy={replayed.isBusy} />
              {replayed.error !== undefined && <Failed error={replayed.error} retry={replayed.retry} />}
              {policy && replayed.value && (
                <Comparison id={id} recorded={recorded.value} replayed={replayed.value} />
              )}
            </section>
          </>
        )}
        {cost.error !== undefined && recorded.error === undefined && (
          <Failed error={cost.error} retry={cost.retry} />
        )}
        {cost.value && <Costs cost={cost.value} />}
      </main>
    </>
  )
}

/**
 * Describes the numbers of replies and of model calls for summaries. Both kinds share one numbering. A summary may take several calls,
 * which a replay does not repeat.
 */
const callsOf = (calls: ReplayResponse['calls']): string => {
  const numbered = calls.filter(({ call }) => call !== undefined)
  const summaries = (numbered.at(-1)?.call ?? 0) - numbered.length
  return `${count(calls.length, 'reply', 'replies')}${summaries > 0 ? ` and ${count(summaries, 'call for a summary', 'calls for summaries')}` : ''}`
}

const sumsOf = (
  { calls, total }: ReplayResponse,
  cache: CacheResponse | undefined,
  cost: CostResponse | undefined,
): string =>
  [
    callsOf(calls),
    `${brief(total.tokens)} tokens sent${cache && cache.uncounted > 0 ? `, those of ${count(cache.uncounted, 'reply', 'replies')} estimated` : ''}`,
    `${percent(total.read, total.tokens) || '0 %'} read from the cache`,
    ...(cost && cost.total.usd > 0 ? [`${dollars(cost.total.usd)} in all`] : []),
    ...(cache
      ? [
          cache.breaks.length === 0
            ? 'the cache never broke'
            : `the cache broke ${cache.breaks.length === 1 ? 'once' : `${number(cache.breaks.length)} times`}`,
        ]
      : []),
  ].join(' · ')

/** Maximum number of cache breaks or of calls listed. */
const most = 50

const Breaks = ({
  id,
  report: { breaks, advice },
}: {
  readonly id: string
  readonly report: CacheResponse
}) =>
  breaks.length === 0 && advice.length === 0 ? null : (
    <section>
      <h2>Where the cache broke</h2>
      {breaks.slice(0, most).map((one, index) => (
        <BreakRow key={index} id={id} nth={index + 1} one={one} />
      ))}
      {breaks.length > most && <p class="faint">{`${number(breaks.length - most)} more`}</p>}
      {advice.map((words) => (
        <p key={words} class="advice">
          {words.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
        </p>
      ))}
    </section>
  )

const BreakRow = ({ id, nth, one }: { readonly id: string; readonly nth: number; readonly one: Break }) => (
  <div class="row-of-break">
    <span class="nth figures">{nth}</span>
    <CallLink id={id} of={one} />
    <span class="grow">
      {describeBreak(one)}
      {one.event !== undefined && (
        <>
          {' '}
          at <a href={hrefs.conversation(id, { at: one.event })}>{number(one.event)}</a>
        </>
      )}
      {one.path !== undefined && (
        <>
          {' '}
          <code class="faint">{one.path}</code>
        </>
      )}
    </span>
    <span class="faint figures">
      {brief(one.lost)} lost, {brief(one.again)} paid again
      {one.usd !== undefined && one.usd > 0 && `, ${dollars(one.usd)}`}
    </span>
  </div>
)

interface PolicyFormProps {
  readonly id: string
  readonly draft: PolicyDraft
  readonly isBusy: boolean
}

const modeWords: Readonly<Record<PolicyDraft['mode'], string>> = {
  condense: 'condense',
  truncate: 'truncate',
  keep: 'hide nothing',
}

const PolicyForm = ({ id, draft: given, isBusy }: PolicyFormProps) => {
  const [draft, setDraft] = useState(given)
  const wrong = wrongIn(draft)
  const text = (name: NumberField, label: string, hint = '') => (
    <label>
      {label}
      <input
        type="text"
        inputMode="numeric"
        class="figures"
        placeholder={hint}
        aria-invalid={wrong.some((one) => one.name === name)}
        value={draft[name]}
        onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
      />
    </label>
  )
  return (
    <form
      class="policy inputs"
      onSubmit={(event) => {
        event.preventDefault()
        if (wrong.length === 0) go(hrefs.tokens(id, queryFields(draft)))
      }}
    >
      {text('window', 'window, in tokens')}
      {text('reserved', 'of these for the answer', '8,192')}
      <label>
        when it is full
        <select
          value={draft.mode}
          onChange={(event) =>
            setDraft({
              ...draft,
              mode: modes.find((mode) => mode === event.currentTarget.value) ?? 'condense',
            })
          }
        >
          {modes.map((mode) => (
            <option key={mode} value={mode}>
              {modeWords[mode]}
            </option>
          ))}
        </select>
      </label>
      {text('percentage', 'full at, in percent', '100')}
      {text('keepLast', 'newest messages to keep', '3')}
      {text('clearResults', 'newest messages with tool results', 'all')}
      <label>
        cache lifetime
        <select
          value={draft.cache}
          onChange={(event) => {
            const { value } = event.currentTarget
            setDraft({ ...draft, cache: value === '5m' || value === '1h' ? value : '' })
          }}
        >
          <option value="">as recorded</option>
          <option value="5m">5 minutes</option>
          <option value="1h">1 hour</option>
        </select>
      </label>
      <button type="submit" class="primary" disabled={wrong.length > 0 || isBusy}>
        Replay
      </button>
      {wrong.map(({ name, words }) => (
        <p key={name} class="refusal whole">
          {words}
        </p>
      ))}
    </form>
  )
}

interface ComparisonProps {
  readonly id: string
  readonly recorded: ReplayResponse
  readonly replayed: ReplayResponse
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${brief(Math.abs(value))}`

const Comparison = ({ id, recorded, replayed }: ComparisonProps) => {
  const { total } = replayed
  const lacking = replayed.calls.filter(({ needed }) => needed.length > 0)
  const written = (['condensed', 'truncated', 'edited'] as const)
    .filter((what) => total[what] > 0)
    .map((what) => `${number(total[what])} ${what}`)
  return (
    <>
      <p class="figures">
        {[
          `${brief(total.tokens)} tokens (${signed(total.tokens - recorded.total.tokens)})`,
          `${percent(total.read, total.tokens) || '0 %'} read from the cache`,
          ...(total.usd === undefined
            ? []
            : [
                `${dollars(total.usd)}${recorded.total.usd === undefined ? '' : ` instead of ${dollars(recorded.total.usd)}`}`,
              ]),
          `${number(total.same)} of ${count(replayed.calls.length, 'call')} the same`,
          ...written,
          ...(total.over > 0 ? [`${count(total.over, 'call')} over the limit`] : []),
        ].join(' · ')}
      </p>
      {lacking.length === 0 ? (
        <p class="faint">No recorded answer names anything that this policy would have hidden.</p>
      ) : (
        <>
          <h3>Referenced but hidden</h3>
          {lacking.slice(0, most).map((call) => (
            <NeededRow key={call.position} id={id} call={call} />
          ))}
          {lacking.length > most && <p class="faint">{`${number(lacking.length - most)} more calls`}</p>}
        </>
      )}
    </>
  )
}

const NeededRow = ({ id, call }: { readonly id: string; readonly call: ReplayRow }) => (
  <div class="row-of-break">
    <CallLink id={id} of={call} />
    <span class="grow">
      {call.needed.slice(0, 6).map(({ term, inSummary }) => (
        <span
          key={term}
          class="term"
          title={inSummary ? 'a summary names it' : 'nothing that is shown names it'}
        >
          <code>{term}</code>
        </span>
      ))}
      {call.needed.length > 6 && <span class="faint">{` and ${number(call.needed.length - 6)} more`}</span>}
    </span>
    <span class="faint figures">{count(call.hidden, 'message')} hidden</span>
  </div>
)

const mostTools = 12

const Costs = ({ cost: { models, tools, conversations } }: { readonly cost: CostResponse }) => {
  const isAny = models.some(({ calls }) => calls > 0)
  const subagents = conversations.length - 1
  return isAny ? (
    <section>
      <h2>What it cost</h2>
      <div class="costs figures">
        {models.map(({ model, calls, input, cacheRead, cacheWrite, output, usd, unpriced, uncounted }) => (
          <p key={model ?? ''}>
            <bdi>{model ?? 'no model named'}</bdi>
            <span class="faint">
              {count(calls, 'call')}
              {uncounted > 0 && `, ${number(uncounted)} not counted by the API`}:{' '}
              {brief(input + cacheRead + cacheWrite)} in, {brief(output)} out
            </span>
            <span>{unpriced > 0 && usd === 0 ? 'no price known' : dollars(usd)}</span>
          </p>
        ))}
      </div>
      <h3>by tool, with the replies that call it</h3>
      <div class="costs figures">
        {tools.slice(0, mostTools).map(({ tool, uses, usd }) => (
          <p key={tool ?? ''}>
            <bdi>{tool ?? 'replies without a tool call'}</bdi>
            <span class="faint">{tool === undefined ? '' : count(uses, 'use')}</span>
            <span>{dollars(usd)}</span>
          </p>
        ))}
      </div>
      {tools.length > mostTools && <p class="faint">{`${number(tools.length - mostTools)} more`}</p>}
      {subagents > 0 && <p class="faint">With {count(subagents, 'subagent')}.</p>}
    </section>
  ) : null
}
