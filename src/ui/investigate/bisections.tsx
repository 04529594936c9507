import '../acts/acts.css'
import './investigate.css'
import { useState } from 'preact/hooks'
import { offBecause } from '../acts/preview.ts'
import { useSession } from '../acts/session.ts'
import { Command } from '../audit/parts.tsx'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import { type SourceProblem, problemOf } from '../source/source.ts'
import { Bar, Failed, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { ago, count, moment, number, placeOf } from '../words.ts'
import type { BisectionResult } from '../source/answers.ts'

/** Shows a form that starts a bisection, and lists the previous ones. */
export const BisectionsPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const query = new URLSearchParams(search)
  const path = apiOf(id, '/bisections')
  const { value, error, isBusy, retry } = useFetched(source, path)
  const [good, setGood] = useState(query.get('good') ?? '')
  const [bad, setBad] = useState(query.get('bad') ?? '')
  const [question, setQuestion] = useState('')
  const [refusal, setRefusal] = useState<string>()
  const [isBeginning, setBeginning] = useState(false)
  const off = offBecause(source.isLive, useSession(source))
  const { tag, events, limit }: Partial<SourceProblem> = error === undefined ? {} : problemOf(error)
  const isTooLong = tag === 'TooLong'
  const isReady = isPosition(good) && isPosition(bad) && off === undefined && !isBeginning
  const begin = async (): Promise<void> => {
    setRefusal(undefined)
    setBeginning(true)
    try {
      const asked = {
        good: Number(good),
        bad: Number(bad),
        ...(question.trim() !== '' && { question: question.trim() }),
      }
      const begun = await source.post(path, asked)
      go(hrefs.bisect(id, begun.id))
    } catch (problem) {
      setRefusal(problemOf(problem).detail)
      setBeginning(false)
    }
  }
  return (
    <>
      <Bar isBusy={isBusy || isBeginning} />
      <main class="plain investigate">
        <h2 class="page-title">When did it go wrong?</h2>
        {isTooLong && <TooLong {...{ id, events, limit }} good={good} bad={bad} />}
        {!isTooLong && (
          <p>
            Name a position at which all was well, and a later one at which it was not. You are asked about as
            few positions in between as possible; what changes the context is suspected first.
          </p>
        )}
        {!isTooLong && tag !== 'ConversationNotFound' && (
          <form
            class="inputs begin"
            onSubmit={(event) => {
              event.preventDefault()
              if (isReady) void begin()
            }}
          >
            <PositionField label="good at (-1: the beginning)" value={good} set={setGood} />
            <PositionField label="bad at" value={bad} set={setBad} />
            <label class="whole">
              question (optional)
              <input
                type="text"
                placeholder="Does it still know which file to change?"
                value={question}
                onInput={(event) => setQuestion(event.currentTarget.value)}
              />
            </label>
            <button type="submit" class="primary" disabled={!isReady} title={off}>
              Begin
            </button>
          </form>
        )}
        {(isWrong(good) || isWrong(bad)) && <p class="refusal">Give positions, as whole numbers.</p>}
        {off !== undefined && !isTooLong && <p class="faint">{off}</p>}
        {refusal !== undefined && (
          <p class="refusal" role="alert">
            {refusal}
          </p>
        )}
        {error !== undefined && !isTooLong && <Failed error={error} retry={retry} />}
        {value && value.items.length > 0 && (
          <section>
            <h2>Begun before</h2>
            {value.items.map((one) => (
              <p key={one.id} class="line">
                <a class="grow question" href={hrefs.bisect(id, one.id)}>
                  {one.question === 'by hand' ? `${placeOf(one.good)} to ${placeOf(one.bad)}` : one.question}
                </a>
                <span class="faint figures">{standsAt(one.result)}</span>
                <span class="faint figures">{count(one.verdicts, 'answer')}</span>
                <span class="faint figures" title={moment(one.begun)}>
                  {ago(one.begun, Date.now())}
                </span>
              </p>
            ))}
          </section>
        )}
      </main>
    </>
  )
}

interface TooLongProps {
  readonly id: string
  /** Number of events in the conversation. `limit` is the server's maximum; both come from its response. */
  readonly events: unknown
  readonly limit: unknown
  /** Good and bad positions from the address; empty if they are missing. */
  readonly good: string
  readonly bad: string
}

/** Explains that the conversation is too long to bisect on the server, and shows the shell command to use instead. */
const TooLong = ({ id, events, limit, good, bad }: TooLongProps) => (
  <>
    <p>
      {`This conversation has ${number(Number(events))} events, and this server bisects at most ${number(Number(limit))}. The command line has no such limit: name a position at which all was well, and a later one at which it was not.`}
    </p>
    <Command
      text={`palimpsest bisect ${id} --good ${isPosition(good) ? good : 'POSITION'} --bad ${isPosition(bad) ? bad : 'POSITION'}`}
    />
  </>
)

interface PositionFieldProps {
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
}

const PositionField = ({ label, value, set }: PositionFieldProps) => (
  <label>
    {label}
    <input
      type="text"
      inputMode="numeric"
      class="figures"
      value={value}
      aria-invalid={isWrong(value)}
      onInput={(event) => set(event.currentTarget.value)}
    />
  </label>
)

const isWrong = (text: string): boolean => text.trim() !== '' && !isPosition(text)

const isPosition = (text: string): boolean => /^(?:-1|\d{1,9})$/.test(text.trim())

const standsAt = (result: BisectionResult): string => {
  switch (result.type) {
    case 'ask':
      return `asks about ${number(result.position)}`
    case 'found':
      return `found ${number(result.position)}`
    case 'unclear':
      return `between ${placeOf(result.first)} and ${number(result.last)}`
  }
}
