import { Fragment } from 'preact'
import { formatCounts } from '../conversation/kinds.ts'
import type { ApiSource } from '../source/source.ts'
import { hrefs } from '../url.ts'
import { brief, count, shortDuration, moment, number, shortModel } from '../words.ts'
import { WaitingCalls } from '../workers/waiting.tsx'
import { OpenedCall } from './opened.tsx'
import { turnName } from './open.ts'
import { Sign } from './sign.tsx'
import { Steps } from './steps.tsx'
import { type CallRow, type CallTurn, isPending, latencyOf, type RowTool } from './turns.ts'
import type { SubagentState } from './use-subagents.ts'

interface TurnProps {
  readonly source: ApiSource
  readonly id: string
  readonly turn: CallTurn
  readonly turns: readonly CallTurn[]
  readonly subagents: SubagentState
  readonly isOpen: boolean
  readonly open: ReadonlySet<string>
  /** Reason why the user cannot decide; undefined if decisions are enabled. */
  readonly off: string | undefined
  readonly toggle: (name: string) => void
  readonly decided: () => void
}

/** Number of calls of a turn shown at first. */
const most = 200

/** Shows a turn as a row of sums, and its calls and steps if it is open. */
export const Turn = (props: TurnProps) => {
  const { source, id, turn, turns, subagents, isOpen, open, off, toggle, decided } = props
  const opened = turn.rows.find(({ name }) => open.has(name))
  const hasSteps = opened !== undefined || turn.waits.length > 0
  return (
    <tbody>
      <TurnRow id={id} turn={turn} isOpen={isOpen} toggle={() => toggle(turnName(turn))} />
      {isOpen &&
        turn.rows.slice(0, most).map((row) => (
          <Fragment key={row.name}>
            <CallCells id={id} row={row} isOpen={open.has(row.name)} toggle={() => toggle(row.name)} />
            {open.has(row.name) && (
              <tr class="opened">
                <td colSpan={11}>
                  <OpenedCall key={row.name} source={source} id={id} row={row} turns={turns} />
                  {row === opened && <Steps id={id} turn={turn} subagents={subagents} isTitled />}
                </td>
              </tr>
            )}
            {row.tools.flatMap(({ call, tool }) => {
              const subagent = subagents.calls.get(call)
              return (
                subagent?.rows.map((inner) => (
                  <CallCells
                    key={`${call} ${inner.name}`}
                    id={subagent.id}
                    row={inner}
                    inside={{ tool, prefix: `${row.number ?? `p${row.position}`}.` }}
                  />
                )) ?? []
              )
            })}
          </Fragment>
        ))}
      {isOpen && turn.rows.length > most && (
        <tr class="note">
          <td colSpan={11} class="faint">
            {number(turn.rows.length - most)} more calls, until position {number(turn.last)}.
          </td>
        </tr>
      )}
      {isOpen && hasSteps && (!opened || turn.waits.some(isPending)) && (
        <tr class="opened">
          <td colSpan={11}>
            <div class="inner">
              {!opened && <Steps id={id} turn={turn} subagents={subagents} />}
              {turn.waits.some(isPending) && turn.abandoned === undefined && source.isLive && (
                <WaitingCalls source={source} id={id} off={off} decided={decided} />
              )}
            </div>
          </td>
        </tr>
      )}
    </tbody>
  )
}

interface TurnRowProps {
  readonly id: string
  readonly turn: CallTurn
  readonly isOpen: boolean
  readonly toggle: () => void
}

const TurnRow = ({ id, turn, isOpen, toggle }: TurnRowProps) => {
  const { nth, prompt, first, last, sums, begun, ended } = turn
  return (
    <tr class={`turn-row${isOpen ? ' current' : ''}`}>
      <td class="n">
        <Toggle isOpen={isOpen} label={`Turn ${nth}`} toggle={toggle} />
      </td>
      <td class="what">
        <b>Turn {number(nth)}</b> <i>{count(sums.calls, 'call')}</i> <span>{prompt}</span>
      </td>
      <td class="num at">
        <a href={hrefs.conversation(id, { at: last, sel: first })}>
          {number(first)}–{number(last)}
        </a>
      </td>
      <td class="model" />
      <td class="num">{brief(sums.fresh)}</td>
      <td class="num">{brief(sums.read)}</td>
      <td class="num out">{brief(sums.output)}</td>
      <td class="num cost">{costText(sums.usd, sums.understated > 0)}</td>
      <td class="num latency" title="From the prompt to the last event of the turn">
        {begun !== undefined && ended !== undefined && ended >= begun && shortDuration(ended - begun)}
      </td>
      <td class="stopped">
        <TurnState turn={turn} />
      </td>
      <td class="proof" />
    </tr>
  )
}

const TurnState = ({ turn: { abandoned, sums, waits } }: Pick<TurnRowProps, 'turn'>) => (
  <>
    {abandoned !== undefined && (
      <Sign name="abandoned" tone="abandoned">
        abandoned at {number(abandoned)}
      </Sign>
    )}
    {sums.errors > 0 && (
      <Sign name="error" tone="error">
        {count(sums.errors, 'error')}
      </Sign>
    )}
    {sums.retries > 0 && (
      <Sign name="retry" tone="call">
        {count(sums.retries, 'retry', 'retries')}
      </Sign>
    )}
    {waits.map((tool) => (
      <Sign key={tool.call} name="approval" tone="approval" title={decisionText(tool)}>
        {stateOf(tool)}
      </Sign>
    ))}
  </>
)

const stateOf = ({ wait, time }: RowTool): string => {
  if (wait?.decision !== undefined) return `${wait.decision} by ${wait.by}`
  return time === undefined ? 'needs approval' : 'not approved'
}

/** Describes who decided about a tool call, when, and why. */
const decisionText = ({ tool, wait }: RowTool): string | undefined => {
  if (!wait) return undefined
  const since = `${tool} needs approval since ${moment(wait.since)}`
  if (wait.decision === undefined || wait.time === undefined) return since
  return `${tool}: ${wait.decision} by ${wait.by} at ${moment(wait.time)}${wait.note === undefined ? '' : `: ${wait.note}`}`
}

interface CallCellsProps {
  readonly id: string
  readonly row: CallRow
  readonly isOpen?: boolean
  /** Opens or closes the call; undefined for a call of a subagent, which is opened on the subagent's own page. */
  readonly toggle?: () => void
  readonly inside?: { readonly tool: string; readonly prefix: string }
}

const CallCells = ({ id, row, isOpen = false, toggle, inside }: CallCellsProps) => {
  const { name, number: nth, position, kind, model, usage, usd, stopReason } = row
  const label = `${inside?.prefix ?? ''}${nth ?? name}`
  const latency = latencyOf(row)
  return (
    <tr class={`call-row${isOpen ? ' is-open' : ''}${inside ? ' kid' : ''}`}>
      <td class="n">
        {toggle ? (
          <Toggle isOpen={isOpen} label={`Call ${label}`} toggle={toggle}>
            {label}
          </Toggle>
        ) : (
          <a href={hrefs.calls(id, { open: name })}>{label}</a>
        )}
      </td>
      <td class="what">
        {inside && <Sign name="subagent" />}
        {kind === 'summary' && <Sign name="condensed" tone="condensed" />}
        <span class={kind === 'summary' ? 'tone-condensed' : 'tone-assistant'}>
          {inside?.tool ?? (kind === 'summary' ? 'condense' : 'assistant')}
        </span>{' '}
        <span class="q">{kind === 'summary' ? summaryText(row) : toolsText(row)}</span>
      </td>
      <td class="num at">
        <a href={hrefs.conversation(id, { at: position, sel: position })}>{number(position)}</a>
      </td>
      <td class="model" title={model}>
        {model === undefined ? '' : shortModel(model)}
      </td>
      <td class="num">{usage && number(usage.input - usage.read)}</td>
      <td class="num m">{usage && number(usage.read)}</td>
      <td class="num out">
        {usage &&
          (row.isUnderstated ? (
            <span title={asRecorded}>≥ {number(usage.output)}</span>
          ) : (
            number(usage.output)
          ))}
      </td>
      <td class="num cost">{costText(usd, row.isUnderstated)}</td>
      <td class="num latency">{latency !== undefined && shortDuration(latency)}</td>
      <td class="stopped m">
        {stopReason}
        {row.abandoned !== undefined && (
          <Sign name="abandoned" tone="abandoned" title={`abandoned at ${number(row.abandoned)}`}>
            <span class="sr-only">abandoned at {number(row.abandoned)}</span>
          </Sign>
        )}
        {row.attempts.length > 0 && (
          <Sign name="retry" tone="call" title={row.attempts.map(({ error }) => error).join('\n')}>
            <span class="sr-only">retry</span>
          </Sign>
        )}
        {row.tools.some(({ isError }) => isError) && (
          <Sign name="error" tone="error" title="a tool failed">
            <span class="sr-only">a tool failed</span>
          </Sign>
        )}
      </td>
      <td class="proof">
        {row.hasReceipt ? (
          <>
            <Sign name="check" /> <span class="q">receipt</span>
          </>
        ) : (
          <span class={row.isMissing ? 'tone-error' : 'q'}>{row.isMissing ? 'missing' : 'no receipt'}</span>
        )}
      </td>
    </tr>
  )
}

const asRecorded = 'As recorded: the reply is far longer than this'

/** Formats a cost for the column: `0.006`, `1.23`. */
const costText = (usd: number | undefined, isLeast = false) => {
  if (usd === undefined) return ''
  const text = usd.toFixed(usd < 1 ? 3 : 2)
  return isLeast ? <span title={asRecorded}>≥ {text}</span> : text
}

const summaryText = ({ condensed }: CallRow): string =>
  condensed
    ? `${count(condensed.messages, 'message')} → ${count(condensed.tokens, 'token')}`
    : 'part of a summary'

const toolsText = ({ tools, moreTools }: CallRow): string =>
  tools.length === 0
    ? 'answered'
    : `${formatCounts(tools.map(({ tool }) => tool))}${moreTools > 0 ? ` and ${number(moreTools)} more` : ''}`

interface ToggleProps {
  readonly isOpen: boolean
  readonly label: string
  readonly toggle: () => void
  readonly children?: preact.ComponentChildren
}
const Toggle = ({ isOpen, label, toggle, children }: ToggleProps) => (
  <button type="button" class="quiet toggle" aria-expanded={isOpen} aria-label={label} onClick={toggle}>
    <Sign name={isOpen ? 'open' : 'closed'} />
    {children}
  </button>
)
