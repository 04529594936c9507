import './workers.css'
import { useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import { announce } from '../announcer.tsx'
import { toast } from '../acts/toast.tsx'
import { Input } from '../blocks/input.tsx'
import { useSetting } from '../settings.ts'
import { closeSheet, openSheet, Sheet } from '../sheet.tsx'
import type { WaitingCallItem } from '../source/answers.ts'
import { problemOf, type ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { ago } from '../words.ts'

interface WaitingCallsProps {
  readonly source: ApiSource
  readonly id: string
  /** Waiting calls, if the parent component has already loaded them. */
  readonly waiting?: readonly WaitingCallItem[]
  /** Reason why the user cannot decide; undefined if decisions are enabled. */
  readonly off: string | undefined
  readonly decided: () => void
}

/**
 * Shows the tool calls of a conversation that wait for a person or an external result, with buttons to approve or deny them. Shows
 * nothing if no calls wait.
 */
export const WaitingCalls = ({ source, id, waiting, off, decided }: WaitingCallsProps) => {
  const [isOld, setOld] = useState(waiting === undefined)
  const path = isOld ? apiOf(id, '/waiting') : undefined
  const { value, retry } = useFetched(source, path)
  const items = value?.items ?? waiting ?? []
  const decide = (call: WaitingCallItem, decision: Decision): void =>
    openSheet(
      <DecisionSheet
        {...{ source, id, call, decision }}
        done={() => {
          setOld(true)
          retry()
          decided()
        }}
      />,
    )
  const first = items.find(({ why }) => why === 'approval')
  useActions({ approve: first && off === undefined ? approveFirst : undefined })
  return (
    <>
      {items.map((call) => (
        <article key={call.call} class="waiting-call">
          <header>
            <b class="tool-name">{call.tool}</b>{' '}
            <span class="faint">
              {call.why === 'approval' ? 'needs approval' : 'needs a result from outside'} · called at{' '}
              <a href={hrefs.conversation(id, { at: call.reply })}>{call.reply}</a> ·{' '}
              {ago(call.since, Date.now())}
              {call.started !== undefined &&
                ` · was started before, ${ago(call.started, Date.now())}: it may have taken effect`}
            </span>
          </header>
          <Waited call={call} />
          {call.why === 'approval' && (
            <p class="buttons">
              <button
                type="button"
                class="primary"
                title={off}
                disabled={off !== undefined}
                onClick={() => decide(call, 'approve')}
              >
                Approve…
              </button>
              <button
                type="button"
                title={off}
                disabled={off !== undefined}
                onClick={() => decide(call, 'deny')}
              >
                Deny…
              </button>
              {off !== undefined && <span class="faint">{off}</span>}
            </p>
          )}
        </article>
      ))}
    </>
  )
}

/** Clicks the approve button of the first waiting call on the page. The page may show calls from several conversations. */
const approveFirst = (): void => document.querySelector<HTMLElement>('.waiting-call .primary')?.click()

/** Shows the input of a waiting call as its row does. */
const Waited = ({ call }: Pick<DecisionSheetProps, 'call'>) => (
  <div class="block call">
    {call.input === undefined ? (
      <p class="nothing">no input</p>
    ) : (
      <Input of={call.input} tool={call.tool} text={useSetting('text')} />
    )}
  </div>
)

type Decision = 'approve' | 'deny'

interface DecisionSheetProps {
  readonly source: ApiSource
  readonly id: string
  readonly call: WaitingCallItem
  readonly decision: Decision
  readonly done: () => void
}

const DecisionSheet = ({ source, id, call, decision, done }: DecisionSheetProps) => {
  const [said, setSaid] = useState('')
  const [refusal, setRefusal] = useState<string>()
  const isApproval = decision === 'approve'
  const of = { id, call: call.call }
  const send = async (): Promise<void> => {
    const text = said.trim() || undefined
    try {
      if (isApproval)
        await source.post(apiPathOf('/conversations/{id}/waiting/{call}/approve', of), { note: text })
      else await source.post(apiPathOf('/conversations/{id}/waiting/{call}/deny', of), { reason: text })
    } catch (error) {
      setRefusal(problemOf(error).detail)
      return
    }
    closeSheet()
    done()
    toast(
      <span>
        {isApproval ? 'Approved' : 'Denied'} <b>{call.tool}</b> in <a href={hrefs.conversation(id)}>{id}</a>{' '}
        {isApproval && <button onClick={() => void withdraw()}>Withdraw</button>}
      </span>,
    )
    announce(isApproval ? 'Approved.' : 'Denied.')
  }
  /** Withdraws the approval, which is possible until the tool has started. */
  const withdraw = async (): Promise<void> => {
    try {
      await source.post(apiPathOf('/conversations/{id}/waiting/{call}/withdraw', of), {})
      toast('Withdrawn: the call waits again.')
      announce('Withdrawn.')
      done()
    } catch (error) {
      toast(problemOf(error).detail)
    }
  }
  return (
    <Sheet
      title={`${isApproval ? 'Approve' : 'Deny'} ${call.tool}`}
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            Cancel
          </button>
          <button type="submit" form="decision" class="primary">
            {isApproval ? 'Approve' : 'Deny'} <kbd>Ctrl+⏎</kbd>
          </button>
        </>
      }
    >
      <p class="faint">
        In <bdi>{id}</bdi>.{' '}
        {isApproval
          ? 'The tool runs with this input as soon as a worker, or the program, continues.'
          : 'The tool is not run, and the model is told why.'}
      </p>
      <Waited call={call} />
      <form
        id="decision"
        class="inputs"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit()
        }}
      >
        <label class="whole">
          {isApproval ? 'note (optional)' : 'why, for the model'}
          <input autofocus type="text" value={said} onInput={(event) => setSaid(event.currentTarget.value)} />
        </label>
      </form>
      {refusal !== undefined && (
        <p class="refusal" role="alert">
          {refusal}
        </p>
      )}
    </Sheet>
  )
}
