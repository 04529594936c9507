import '../acts/acts.css'
import './investigate.css'
import { useEffect, useState } from 'preact/hooks'
import { useSession } from '../acts/session.ts'
import { offBecause } from '../acts/preview.ts'
import { announce } from '../announcer.tsx'
import { wholeOutline } from '../conversation/fetching/part.ts'
import type { QueryOf } from '../../server/client/api.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import { EntryLine } from '../diff/rows-view.tsx'
import { keymap, formatKey } from '../keys.ts'
import type { PageProps } from '../page.ts'
import { problemOf, type ApiSource } from '../source/source.ts'
import { Bar, Failed, NotIndexed, Skeleton, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { count, kindOf, number, percent, placeOf } from '../words.ts'
import { HeatStrip } from './heat-strip.tsx'
import type { BisectionResponse, BisectionResult, BisectionAnswer } from '../source/answers.ts'

/** Shows a manual bisection: the position to judge next, and the previous answers. */
export const BisectionPage = ({ source, params: { id = '', bisection = '' } }: PageProps) => {
  const of = { id, bisection }
  const path = apiPathOf('/conversations/{id}/bisections/{bisection}', of, { buckets })
  const { value: fetched, error, isBusy, retry } = useFetched(source, path)
  const [answered, setAnswered] = useState<BisectionResponse>()
  const [isSending, setSending] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  const off = offBecause(source.isLive, useSession(source))
  const value = answered ?? fetched
  const asked = value?.result.type === 'ask' ? value.result.position : undefined
  const range = fetched && rangeFor(fetched, asked)
  const { value: outline, retry: again } = useFetched(source, range && apiOf(id, '/outline', range))
  // The index beside the store is still catching up.
  const isIndexing =
    outline?.indexed !== undefined &&
    outline.problem === undefined &&
    outline.indexed < Math.min(range?.to ?? 0, outline.last)
  useEffect(() => {
    if (!isIndexing) return undefined
    const timer = setTimeout(again, 250)
    return () => clearTimeout(timer)
  }, [outline])
  const say = (verdict: BisectionAnswer): void => {
    if (asked === undefined || isSending || off !== undefined) return
    setSending(true)
    setRefusal(undefined)
    const send = async (): Promise<void> => {
      try {
        const verdicts = apiPathOf('/conversations/{id}/bisections/{bisection}/verdicts', of, { buckets })
        const next = await source.post(verdicts, { position: asked, verdict })
        setAnswered(next)
        announce(`${number(asked)} is ${verdict === 'skip' ? 'skipped' : verdict}. ${nextWords(next.result)}`)
      } catch (problem) {
        const { detail, status } = problemOf(problem)
        setRefusal(detail)
        // Another user has answered in the meantime.
        if (status === 409) setAnswered(await source.get(path).catch(() => value))
      } finally {
        setSending(false)
      }
    }
    void send()
  }
  const isAsked = asked !== undefined && off === undefined
  // In a long conversation, the kind of the event may be loaded later.
  const what = outline && asked !== undefined ? named[kindOf(outline.kinds[asked - outline.from])] : undefined
  useActions({
    isGood: isAsked ? () => say('good') : undefined,
    isBad: isAsked ? () => say('bad') : undefined,
    skip: isAsked ? () => say('skip') : undefined,
  })
  return (
    <>
      <Bar isBusy={isBusy || isSending} />
      <main class="plain investigate">
        {error !== undefined && !value && <Failed error={error} retry={retry} />}
        {!value && error === undefined && <Skeleton />}
        {value && (
          <>
            <p class="faint">
              {value.question === 'by hand' ? 'When did it go wrong?' : value.question} All was well at{' '}
              <At id={id} position={value.good} />, and no longer at <At id={id} position={value.bad} />.
            </p>
            <Outcome id={id} value={value} />
            {asked !== undefined && (
              <>
                <p class="faint">
                  {what !== undefined && `${number(asked)} is ${what}. `}
                  This is the end of what the model sees then:
                </p>
                <Last source={source} id={id} position={asked} />
                <div class="answers">
                  {answers.map(([verdict, word, action]) => (
                    <button
                      key={verdict}
                      type="button"
                      class={verdict}
                      title={off}
                      aria-disabled={off !== undefined || isSending}
                      onClick={() => say(verdict)}
                    >
                      {word} <kbd>{formatKey(keymap[action].keys[0] ?? '')}</kbd>
                    </button>
                  ))}
                  {off !== undefined && <span class="faint">{off}</span>}
                </div>
              </>
            )}
            {refusal !== undefined && (
              <p class="refusal" role="alert">
                {refusal}
              </p>
            )}
            <NotIndexed {...outline} />
            <HeatStrip bisection={value} outline={outline} />
            <Suspects id={id} value={value} />
            <Verdicts id={id} value={value} />
          </>
        )}
      </main>
    </>
  )
}

/** Number of buckets requested for the candidates: more than fit on a screen. */
const buckets = 2_000

/** Returns the range of positions whose event kinds are shown: all candidates or, if there are many, only the position to judge. */
const rangeFor = ({ candidates, bad }: BisectionResponse, asked: number | undefined) => {
  const [from = 0] = candidates
  if (bad - from < wholeOutline) return { from, to: bad }
  return asked === undefined ? undefined : { from: asked, to: asked }
}

/** Phrases for the kinds of events. */
const named: Readonly<Record<string, string>> = {
  user: 'a message of the user',
  assistant: 'a reply',
  'tool call': 'a reply with tool calls',
  'tool result': 'a message with tool results',
  system: 'a system message',
  condensed: 'a summary',
  truncated: 'a truncation',
  rewind: 'a rewind',
  restore: 'a restore',
  configuration: 'another configuration',
  erasure: 'an erasure',
}

const answers = [
  ['good', 'Good', 'isGood'],
  ['bad', 'Bad', 'isBad'],
  ['skip', 'Cannot tell', 'skip'],
] as const

const nextWords = (result: BisectionResult): string => {
  switch (result.type) {
    case 'ask':
      return `Next: ${number(result.position)}`
    case 'found':
      return `The first bad position is ${number(result.position)}`
    case 'unclear':
      return `It is between ${placeOf(result.first)} and ${number(result.last)}`
  }
}

const At = ({ id, position }: { readonly id: string; readonly position: number }) =>
  position < 0 ? (
    <>{placeOf(position)}</>
  ) : (
    <a href={hrefs.conversation(id, { at: position })}>{number(position)}</a>
  )

const unclear: Readonly<Record<string, string>> = {
  skipped: 'All remaining positions were skipped.',
  contradicting: 'No single change explains the answers: it may have changed more than once.',
  alike: 'Both ends look the same: rephrase the question.',
}

const eventWords: Readonly<Record<string, string>> = {
  MessageAppended: 'a message',
  Condensed: 'a summary',
  Truncated: 'a truncation',
  Rewound: 'a rewind',
  Restored: 'a restore',
  Configured: 'another configuration',
  Forked: 'a fork',
  Erased: 'an erasure',
}

const Outcome = ({
  id,
  value: { result, event },
}: {
  readonly id: string
  readonly value: BisectionResponse
}) => {
  switch (result.type) {
    case 'ask':
      return (
        <h2 class="page-title">
          Is it still good at <At id={id} position={result.position} />?
        </h2>
      )
    case 'found':
      return (
        <div role="status">
          <h2 class="page-title">
            Since <At id={id} position={result.position} />, {eventWords[event ?? ''] ?? 'an event'}
          </h2>
          <p>
            <a href={hrefs.diff(id, result.position - 1, result.position)}>what it changed for the model</a>
            {result.probability < 1 && <span class="faint"> · {percent(result.probability, 1)} sure</span>}
          </p>
        </div>
      )
    case 'unclear':
      return (
        <div role="status">
          <h2 class="page-title">
            Between <At id={id} position={result.first} /> and <At id={id} position={result.last} />
          </h2>
          <p>{unclear[result.why]}</p>
        </div>
      )
  }
}

/** Shows the last items of the effective history at a position. */
const Last = ({
  source,
  id,
  position,
}: {
  readonly source: ApiSource
  readonly id: string
  readonly position: number
}) => {
  const effective = (page: QueryOf<'/conversations/{id}/effective'>) =>
    apiOf(id, '/effective', { at: position, ...page })
  const { value: whole } = useFetched(source, effective({ limit: 1, clip: 1 }))
  const { value, error, retry } = useFetched(
    source,
    whole && effective({ offset: Math.max(0, whole.total - shown), limit: shown, clip: 400 }),
  )
  if (error !== undefined) return <Failed error={error} retry={retry} />
  return (
    <div class="last-seen" aria-label={`What the model sees at ${number(position)}`} role="group">
      {whole && whole.total > shown && <p class="faint">{`${count(whole.total - shown, 'item')} before`}</p>}
      {value?.items.map((entry) => (
        <EntryLine key={entry.position} id={id} entry={entry} />
      ))}
      <p>
        <a href={hrefs.conversation(id, { at: position })}>All that the model sees there</a>
      </p>
    </div>
  )
}
const shown = 5

const Suspects = ({
  id,
  value: { suspects, result },
}: {
  readonly id: string
  readonly value: BisectionResponse
}) =>
  result.type === 'found' || suspects.length === 0 ? null : (
    <section>
      <h2>Most likely</h2>
      {suspects.map(({ position, type, probability }) => (
        <p key={position} class="line">
          <span class="position figures">
            <At id={id} position={position} />
          </span>
          <span class="grow">{eventWords[type] ?? type}</span>
          <span class="faint figures">{percent(probability, 1)}</span>
        </p>
      ))}
    </section>
  )

const Verdicts = ({
  id,
  value: { verdicts, reliability },
}: {
  readonly id: string
  readonly value: BisectionResponse
}) =>
  verdicts.length === 0 ? null : (
    <section>
      <h2>
        Answers <span class="faint figures">{number(verdicts.length)}</span>
      </h2>
      {reliability < 1 && <p class="faint">Each is right {percent(reliability, 1)} of the time.</p>}
      {verdicts.map(({ position, verdict, evidence, isMeasure }, index) => (
        <p key={index} class="line">
          <span class="position figures">
            <At id={id} position={position} />
          </span>
          <span class={`verdict-word ${verdict}`}>{verdict === 'skip' ? 'cannot tell' : verdict}</span>
          <span class="grow faint">
            {isMeasure ? 'asked to find out how reliable answers are' : evidenceWords(evidence)}
          </span>
        </p>
      ))}
    </section>
  )

const evidenceWords = (evidence: unknown): string => {
  if (evidence === undefined || evidence === null) return ''
  const { sameRequestAs } = evidence as { readonly sameRequestAs?: unknown }
  if (typeof sameRequestAs === 'number') return `the request is that of ${number(sameRequestAs)}`
  return JSON.stringify(evidence).slice(0, 200)
}
