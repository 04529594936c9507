import { Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { DiffRows } from '../diff/rows-view.tsx'
import { effectiveChanges } from '../diff/use-changes.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import type { ActPreview } from '../source/answers.ts'
import { type SourceProblem, problemOf } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { count, number } from '../words.ts'
import { type ActDraft, eventWords, lackOf, purposeOf, titleOf } from './acts.ts'
import { type ActTarget, carryOut, useDryRun, useServing } from './dry-run.ts'
import { Fields } from './fields.tsx'
import { figuresOf, newRepairs, type Stale, staleIn, warningOf } from './preview.ts'
import { apiOf } from '../url.ts'

interface ActSheetProps {
  readonly acting: ActTarget
  readonly draft: ActDraft
  readonly done: (draft: ActDraft) => void
}

/** Shows a form for a command, with a preview of the command's effects from a dry run. */
export const ActSheet = ({ acting, draft: given, done }: ActSheetProps) => {
  const [draft, setDraft] = useState(given)
  const [refused, setRefused] = useState<SourceProblem>()
  const [isSending, setSending] = useState(false)
  const { preview, problem, isBusy } = useDryRun(acting, draft, isSending)
  const serving = useServing(acting)
  const failure = refused ?? problem
  const stale = failure && staleIn(failure)
  const lack = lackOf(draft)
  const isReady =
    lack === undefined &&
    !isSending &&
    !stale &&
    (draft.act === 'fork' ? problem === undefined : preview !== undefined)

  const confirm = (after = preview?.position ?? acting.last): void => {
    if (isSending) return
    setSending(true)
    const send = async (): Promise<void> => {
      try {
        await carryOut(acting, draft, after)
      } catch (error) {
        setSending(false)
        setRefused(problemOf(error))
        return
      }
      closeSheet()
      done(draft)
    }
    void send()
  }
  useConfirming(isReady ? () => confirm() : undefined)
  const change = (next: ActDraft): void => {
    setRefused(undefined)
    setDraft(next)
  }

  const title = titleOf(draft)
  if (stale)
    return <StaleSheet {...{ acting, stale, isSending }} title={title} anyway={() => confirm(stale.last)} />
  return (
    <Sheet
      title={title}
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            autofocus={draft.act === 'rewind' && draft.way !== undefined}
            // Not `disabled`, because a disabled button cannot receive the focus when the sheet opens.
            aria-disabled={!isReady}
            onClick={() => isReady && confirm()}
          >
            {title} <kbd>Ctrl+⏎</kbd>
          </button>
        </>
      }
    >
      <p class="faint">{purposeOf(draft)}</p>
      <Fields draft={draft} change={change} />
      <div class="dry-run" aria-live="polite" aria-busy={isBusy}>
        {draft.act === 'fork' ? (
          lack === undefined && !failure && <p>One event is written, into the new conversation.</p>
        ) : (
          <Outcome preview={preview} />
        )}
        {lack !== undefined && <p class="faint">{lack}</p>}
        {failure && <p class="refusal">{failure.detail}</p>}
        {serving && draft.act !== 'fork' && <Warning text={warningOf(acting.id, serving, preview?.after)} />}
      </div>
    </Sheet>
  )
}

/** Calls `confirm` on Ctrl+Enter or Cmd+Enter, wherever the focus is. */
const useConfirming = (confirm: (() => void) | undefined): void => {
  const current = useRef(confirm)
  current.current = confirm
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      current.current?.()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

const Warning = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="warning">
      <span aria-hidden="true">⚠ </span>
      {text}
    </p>
  )

/** Shows the events that a command would write and how the effective history would change. */
const Outcome = ({ preview }: { readonly preview: ActPreview | undefined }) => {
  if (!preview) return null
  const repairs = newRepairs(preview)
  return (
    <dl class="told">
      <dt>writes</dt>
      <dd>{preview.events.length === 0 ? 'nothing' : preview.events.map(eventWords).join(', ')}</dd>
      {figuresOf(preview).map(({ name, before, after, change }) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd class="figures">
            {before} <span class="faint">→</span> {after} <span class="change">{change}</span>
          </dd>
        </Fragment>
      ))}
      {repairs.length > 0 && (
        <>
          <dt>in a request</dt>
          <dd>
            {repairs.map((repair) => (
              <p key={repair}>{repair}</p>
            ))}
          </dd>
        </>
      )}
    </dl>
  )
}

interface StaleSheetProps {
  readonly acting: ActTarget
  readonly stale: Stale
  readonly title: string
  readonly isSending: boolean
  readonly anyway: () => void
}

/** Shows how events written since the user last looked have changed the effective history, and offers to send the command anyway. */
const StaleSheet = ({ acting, stale, title, isSending, anyway }: StaleSheetProps) => {
  const { came, last } = stale
  const path = apiOf(acting.id, '/diff', { from: last - came, to: last, clip: 2_000 })
  const changes = effectiveChanges(useFetched(acting.source, path).value)
  return (
    <Sheet
      title={`${count(stale.came, 'event')} arrived in the meantime`}
      class="wide"
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            Cancel
          </button>
          <button type="button" class="primary" disabled={isSending} onClick={anyway}>
            {title} anyway, at {number(stale.last)}
          </button>
        </>
      }
    >
      <p class="faint">
        Nothing has been written. This is what has changed for the model since you last looked.
      </p>
      {changes && <DiffRows id={acting.id} changes={changes} />}
    </Sheet>
  )
}
