import './acts.css'
import { useEffect, useState } from 'preact/hooks'
import { positionsIn, rangesOf } from '../audit/withhold.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import { problemOf, type ApiSource, type SourceProblem } from '../source/source.ts'
import { apiOf } from '../url.ts'
import { count, moment, number, size } from '../words.ts'

interface EraseSheetProps {
  readonly source: ApiSource
  readonly id: string
  readonly last: number
  /** Position of the selected event. */
  readonly position: number
}

/** Delay between the last change and the dry run, in milliseconds. */
const rest = 200

const request = (source: ApiSource, id: string, dryRun: boolean, body: EraseBody, signal?: AbortSignal) =>
  source.post(apiOf(id, '/erase', { dryRun }), { ...body, again: false }, { signal })
interface EraseBody {
  readonly positions?: number[]
  readonly reason?: string
}
type Report = Awaited<ReturnType<typeof request>>

/** Shows a form that erases content for good. It first shows what goes, and asks for the id of the conversation. */
export const EraseSheet = ({ source, id, last, position }: EraseSheetProps) => {
  const [isWhole, setWhole] = useState(false)
  const [places, setPlaces] = useState(String(position))
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const [report, setReport] = useState<Report>()
  const [refusal, setRefusal] = useState<SourceProblem>()
  const [isErasing, setErasing] = useState(false)
  const [erased, setErased] = useState<string>()
  const positions = positionsIn(places, last)
  const chosen = isWhole ? {} : positions && positions.length > 0 ? { positions: [...positions] } : undefined
  const isDone = erased !== undefined
  useEffect(() => {
    if (!chosen || isDone) return undefined
    setReport(undefined)
    setRefusal(undefined)
    const asking = new AbortController()
    const { signal } = asking
    const ask = (): void => {
      request(source, id, true, chosen, signal).then(
        (found) => signal.aborted || setReport(found),
        (error: unknown) => signal.aborted || setRefusal(problemOf(error)),
      )
    }
    const timer = setTimeout(ask, rest)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
    // The text itself, so that a refusal that no longer holds can be asked for again.
  }, [source, id, places, isWhole, isDone])
  const isReady = chosen !== undefined && report !== undefined && typed === id && !isErasing
  const erase = async (): Promise<void> => {
    if (!isReady) return
    setErasing(true)
    try {
      const why = reason.trim()
      setReport(await request(source, id, false, { ...chosen, ...(why !== '' && { reason: why }) }))
      setErased(new Date().toISOString())
    } catch (error) {
      setRefusal(problemOf(error))
    } finally {
      setErasing(false)
    }
  }
  if (erased !== undefined && report)
    return (
      <Sheet
        title="Erase"
        actions={
          <button type="button" class="primary" autofocus onClick={closeSheet}>
            Close
          </button>
        }
      >
        <div role="status">
          <p>Erased at {moment(erased)}.</p>
          <ReportList report={report} />
        </div>
      </Sheet>
    )
  return (
    <Sheet
      title="Erase"
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            Cancel
          </button>
          <button type="submit" form="erase" class="primary" disabled={!isReady}>
            {isErasing ? 'Erasing …' : 'Erase'}
          </button>
        </>
      }
    >
      <p class="faint">
        The content goes for good; hashes stay, so that the proofs of everything else stay valid. The erasure
        is recorded under your name.
      </p>
      <form
        id="erase"
        class="inputs"
        onSubmit={(event) => {
          event.preventDefault()
          void erase()
        }}
      >
        <label class="whole">
          the events at (such as 12, 15-17)
          <input
            type="text"
            autofocus
            value={places}
            disabled={isWhole}
            onInput={({ currentTarget }) => setPlaces(currentTarget.value)}
            aria-invalid={!chosen}
          />
        </label>
        <label class="whole choice">
          <input
            type="checkbox"
            checked={isWhole}
            onChange={({ currentTarget }) => setWhole(currentTarget.checked)}
          />{' '}
          everything in the conversation, with its notes and records of turns
        </label>
        <label class="whole">
          why (recorded with the erasure)
          <input
            type="text"
            maxLength={1_000}
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        <label class="whole">
          to confirm, the id of the conversation
          <input
            type="text"
            autocomplete="off"
            placeholder={id}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      </form>
      <div class="dry-run" aria-live="polite" aria-busy={!report && !refusal}>
        {!chosen && <p class="refusal">Give positions from 0 to {number(last)}.</p>}
        {chosen && report && <ReportList report={report} />}
        {refusal && <p class="refusal">{refusal.detail}</p>}
      </div>
    </Sheet>
  )
}

/** Maximum number of repeated texts, and of subagents, that are listed. */
const mostRepeated = 10

/** Lists what an erasure removes, which places repeat words of it, and the subagents, of which nothing is erased. */
const ReportList = ({ report }: { readonly report: Report }) => {
  const { positions, notes, turns, inbox, archive, contents, recent, rewritten, repeated, subagents } = report
  const parts = [
    ...(positions.length > 0 ? [`${count(positions.length, 'event')} (${rangesOf(positions)})`] : []),
    ...(notes > 0 ? [count(notes, 'note')] : []),
    ...(turns > 0 ? [`${count(turns, 'record')} of turns`] : []),
    ...(inbox > 0 ? [count(inbox, 'queued message')] : []),
    ...(archive > 0 ? ['1 original file'] : []),
    ...(contents > 0 ? [count(contents, 'large content')] : []),
  ]
  const texts = [...Map.groupBy(repeated, ({ excerpt }) => excerpt)]
  return (
    <dl class="told">
      <dt>goes</dt>
      <dd>{parts.length > 0 ? parts.join(', ') : 'nothing is left to erase'}</dd>
      {recent > 0 && (
        <>
          <dt>stays for now</dt>
          <dd>{count(recent, 'large content')} stored recently: gc removes it</dd>
        </>
      )}
      {rewritten !== undefined && (
        <>
          <dt>first</dt>
          <dd>the store’s file is rewritten ({size(rewritten)}); nobody can write meanwhile</dd>
        </>
      )}
      {subagents.length > 0 && (
        <>
          <dt>not erased</dt>
          <dd class="warning">
            the conversations of {count(subagents.length, 'subagent')}:{' '}
            {subagents.slice(0, mostRepeated).join(', ')}
            {subagents.length > mostRepeated && ` and ${number(subagents.length - mostRepeated)} more`}
          </dd>
        </>
      )}
      {texts.length > 0 && (
        <>
          <dt>repeated</dt>
          <dd>
            {texts.slice(0, mostRepeated).map(([excerpt, found]) => (
              <p key={excerpt} class="warning">
                {placesText(found.map(({ place }) => place))}: {excerpt}
              </p>
            ))}
            {texts.length > mostRepeated && <p>and {number(texts.length - mostRepeated)} more texts</p>}
          </dd>
        </>
      )}
    </dl>
  )
}

const placesText = (places: readonly { readonly kind: string; readonly position?: number | undefined }[]) => {
  const [events, others] = [places.filter(isEvent), places.filter((place) => !isEvent(place))]
  const at = rangesOf(events.map(({ position = 0 }) => position))
  return [
    ...(at === '' ? [] : [at]),
    ...others.map(({ kind, position }) => `${kind} ${position ?? ''}`),
  ].join(', ')
}
const isEvent = ({ kind }: { readonly kind: string }): boolean => kind === 'event'
