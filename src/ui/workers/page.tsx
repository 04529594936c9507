import '../tabs.css'
import { type ApiPath, apiPathOf } from '../../server/client/api-path.ts'
import { offBecause } from '../acts/preview.ts'
import { useSession } from '../acts/session.ts'
import { announce } from '../announcer.tsx'
import { InHeader } from '../head/in-header.tsx'
import type { PageProps } from '../page.ts'
import { problemOf } from '../source/source.ts'
import { Failed, Skeleton } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { useTitle } from '../use-title.ts'
import { ago, clock, count, moment, number, shortId } from '../words.ts'
import type { BoardStep, BoardWorker } from '../source/answers.ts'
import { type Board, boardOf, healthOf, notesOf } from './rows.ts'
import { type BoardView, useBoard } from './use-board.ts'
import { WaitingCalls } from './waiting.tsx'

/** Routes that pause or resume conversations and workers, or retry parked steps. They need no request body. */
type Act = `/conversations/{id}/${'pause' | 'resume' | 'retry'}` | `/workers/{worker}/${'pause' | 'resume'}`

/** Shows the workers, their steps, and the steps that need an approval or a result. */
export const WorkersPage = ({ source }: PageProps) => {
  const { seen, error, again } = useBoard(source)
  const off = offBecause(source.isLive, useSession(source))
  useTitle('Workers')
  const tell = (path: ApiPath<Act>): void => {
    source.post(path, {}).then(again, (reason: unknown) => announce(problemOf(reason).detail))
  }
  const board = boardOf(seen?.steps ?? [])
  return (
    <>
      <InHeader place="live">
        {seen && <span class="faint figures seen-at">as of {clock(seen.at)}</span>}
      </InHeader>
      <main class="plain workers">
        <h1>Workers</h1>
        {error !== undefined && <Failed error={error} retry={again} />}
        {!seen && error === undefined && <Skeleton />}
        {seen && (
          <>
            <p class="faint figures">{sumsOf(seen, board)}</p>
            {board.waiting.length > 0 && (
              <section>
                <h2>Needs approval or a result</h2>
                {board.waiting.slice(0, most).map((step) => (
                  <div key={step.conversation} class="waiting-step">
                    <StepLine step={step} now={seen.at} />
                    <WaitingCalls
                      key={step.since}
                      {...{ source, off }}
                      id={step.conversation}
                      decided={again}
                    />
                  </div>
                ))}
                <More all={board.waiting} />
              </section>
            )}
            <Steps title="Parked" steps={board.parked} now={seen.at}>
              {({ conversation }) => (
                <button
                  type="button"
                  title={off ?? 'Retry'}
                  disabled={off !== undefined}
                  onClick={() => tell(apiOf(conversation, '/retry'))}
                >
                  Retry
                </button>
              )}
            </Steps>
            <Workers seen={seen} off={off} tell={tell} />
            <Steps title="In progress" steps={board.inProgress} now={seen.at} />
            <Steps title="Open" steps={board.open} now={seen.at}>
              {({ conversation, held }) => (
                <button
                  type="button"
                  class="quiet"
                  title={off}
                  disabled={off !== undefined}
                  onClick={() =>
                    tell(held === 'paused' ? apiOf(conversation, '/resume') : apiOf(conversation, '/pause'))
                  }
                >
                  {held === 'paused' ? 'Resume conversation' : 'Pause conversation'}
                </button>
              )}
            </Steps>
          </>
        )}
      </main>
    </>
  )
}

/** Maximum number of rows in each section; the number of further rows is shown below. */
const most = 50

const sumsOf = ({ workers }: BoardView, { waiting, parked, inProgress, open }: Board): string =>
  [
    count(workers.length, 'worker'),
    ...[
      [inProgress, 'in progress'] as const,
      [open, 'open'] as const,
      [parked, 'parked'] as const,
      [waiting, `${waiting.length === 1 ? 'needs' : 'need'} approval or a result`] as const,
    ].flatMap(([steps, words]) => (steps.length === 0 ? [] : [`${number(steps.length)} ${words}`])),
  ].join(' · ')

const More = ({ all }: { readonly all: readonly BoardStep[] }) =>
  all.length > most ? <p class="faint">{`${number(all.length - most)} more`}</p> : null

const StepLine = ({ step, now }: { readonly step: BoardStep; readonly now: number }) => (
  <p class="step">
    <a href={hrefs.conversation(step.conversation)} title={step.conversation}>
      <bdi>{shortId(step.conversation)}</bdi>
    </a>
    <span class="notes faint">{notesOf(step).join(' · ')}</span>
    <span class="faint figures" title={moment(step.since)}>
      {ago(step.since, now)}
    </span>
  </p>
)

interface StepsProps {
  readonly title: string
  readonly steps: readonly BoardStep[]
  readonly now: number
  readonly children?: (step: BoardStep) => preact.ComponentChildren
}

const Steps = ({ title, steps, now, children }: StepsProps) =>
  steps.length === 0 ? null : (
    <section>
      <h2>
        {title} <span class="faint figures">{number(steps.length)}</span>
      </h2>
      {steps.slice(0, most).map((step) => (
        <div key={step.conversation} class="step-row">
          <StepLine step={step} now={now} />
          {step.holder !== undefined && (
            <span class="faint" title={step.holder}>
              {shortId(step.holder)}
            </span>
          )}
          {children?.(step)}
        </div>
      ))}
      <More all={steps} />
    </section>
  )

interface WorkersProps {
  readonly seen: BoardView
  readonly off: string | undefined
  readonly tell: (path: ApiPath<Act>) => void
}

const Workers = ({ seen: { workers, at }, off, tell }: WorkersProps) => (
  <section>
    <h2>
      At work <span class="faint figures">{number(workers.length)}</span>
    </h2>
    {workers.length === 0 && (
      <p class="faint">
        No worker has reported yet. <code>palimpsest work AGENT.ts</code> starts some.
      </p>
    )}
    {workers.map((one) => (
      <WorkerRow key={one.worker} worker={one} now={at} off={off} tell={tell} />
    ))}
  </section>
)

interface WorkerRowProps {
  readonly worker: BoardWorker
  readonly now: number
  readonly off: string | undefined
  readonly tell: (path: ApiPath<Act>) => void
}

const WorkerRow = ({ worker, now, off, tell }: WorkerRowProps) => {
  const { worker: name, heard, slots, paused, steps } = worker
  const health = healthOf(worker, now)
  return (
    <div class={`worker ${health}`}>
      <span class="health" aria-hidden="true" />
      <b title={name}>
        <bdi>{shortId(name)}</bdi>
      </b>
      <span class="faint">
        {health}
        {slots !== undefined && `, ${number(steps.length)} of ${count(slots, 'slot')}`} · last heard from{' '}
        {ago(heard, now)}
      </span>
      <span class="on">
        {steps.slice(0, 6).map(({ conversation, since }) => (
          <a
            key={conversation}
            href={hrefs.conversation(conversation)}
            title={`${conversation}, since ${moment(since)}`}
          >
            <bdi>{shortId(conversation)}</bdi>
          </a>
        ))}
        {steps.length > 6 && <span class="faint">{`${number(steps.length - 6)} more`}</span>}
      </span>
      <button
        type="button"
        class="quiet"
        title={
          off ??
          (paused ? 'Let this worker start new steps again' : 'Stop this worker from starting new steps')
        }
        disabled={off !== undefined}
        onClick={() =>
          tell(
            paused
              ? apiPathOf('/workers/{worker}/resume', { worker: name })
              : apiPathOf('/workers/{worker}/pause', { worker: name }),
          )
        }
      >
        {paused ? 'Resume worker' : 'Pause worker'}
      </button>
    </div>
  )
}
