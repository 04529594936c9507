import { useState } from 'preact/hooks'
import { CallLink } from '../call-link.tsx'
import { Failed, useFetched } from '../states.tsx'
import type { ApiSource } from '../source/source.ts'
import { apiOf, hrefs } from '../url.ts'
import { count, number } from '../words.ts'
import { alikeIn } from './alike.ts'
import { nameOf } from '../request/call.ts'
import type { CallListResponse, VerificationResponse, VerificationFinding } from '../source/answers.ts'

type Call = CallListResponse['items'][number]
type State = 'verified' | 'differs' | 'missing' | 'reconstructed'

const icons: Readonly<Record<State, string>> = {
  verified: '',
  differs: '≠ ',
  missing: '○ ',
  reconstructed: '',
}

/** Maximum number of model calls shown. */
const most = 600

interface CallsProps {
  readonly source: ApiSource
  readonly id: string
  readonly checked: VerificationResponse | undefined
}

/** Shows every model call with the state of its receipt. */
export const Calls = ({ source, id, checked }: CallsProps) => {
  const { value, error, retry } = useFetched(source, checked && apiOf(id, '/calls', { limit: most }))
  const [isOpen, setOpen] = useState(false)
  const { receipts } = checked ?? {}
  if (!receipts) return null
  const findings = new Map(
    receipts.findings.map((finding) => [nameOf({ ...finding, number: finding.call }), finding]),
  )
  const groups = alikeIn(receipts.findings)
  const stateOf = (call: Call): State => {
    const found = findings.get(nameOf(call))
    if (call.number !== undefined) return found ? 'differs' : 'verified'
    return call.isMissing ? 'missing' : 'reconstructed'
  }
  const calls = (value?.items ?? []).map((call) => ({ name: nameOf(call), state: stateOf(call) }))
  // Imported sessions have no receipts: hundreds of boxes would all say the same.
  const proven = calls.filter(({ state }) => state !== 'reconstructed')
  const unproven = calls.filter(({ state }) => state === 'reconstructed')
  return (
    <section>
      <h2>Receipts</h2>
      <p>{wordsOf(receipts, value?.next === undefined ? value?.items : undefined)}</p>
      {error !== undefined && <Failed error={error} retry={retry} />}
      {proven.length > 0 && <CallList id={id} calls={proven} />}
      {unproven.length > 0 && (
        <details class="unproven" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{count(unproven.length, 'reply', 'replies')} without a receipt</summary>
          {isOpen && <CallList id={id} calls={unproven} />}
        </details>
      )}
      {value?.next !== undefined && (
        <p class="faint">The first {number(most)} are shown; the counts are of all.</p>
      )}
      {groups.slice(0, mostGroups).map(({ message, findings: alike }) => (
        <p key={message} class="line differs">
          <Which id={id} findings={alike} />
          <span class="grow">{message}</span>
        </p>
      ))}
      {groups.length > mostGroups && <p class="faint">{`${number(groups.length - mostGroups)} more`}</p>}
    </section>
  )
}

interface CallListProps {
  readonly id: string
  readonly calls: readonly { readonly name: string; readonly state: State }[]
}

const CallList = ({ id, calls }: CallListProps) => (
  <ul class="calls" aria-label="Calls">
    {calls.map(({ name, state }) => (
      <li key={name}>
        <a class={state} href={hrefs.call(id, name)} aria-label={`call ${name}: ${state}`} title={state}>
          <span aria-hidden="true">
            {icons[state]}
            {name}
          </span>
        </a>
      </li>
    ))}
  </ul>
)

const mostGroups = 12

interface WhichProps {
  readonly id: string
  readonly findings: readonly VerificationFinding[]
}

/** Shows the call of the first finding, and the number of the other findings with the same message. */
const Which = ({ id, findings: [first, ...more] }: WhichProps) =>
  first ? (
    <span>
      <CallLink id={id} of={first} />
      {more.length > 0 && ` and ${number(more.length)} more`}
    </span>
  ) : null

/** @param calls all calls, if they are known: some are for summaries, which lists of conversations do not count */
const wordsOf = (
  { verified, differs, erased = 0, missing, reconstructed }: NonNullable<VerificationResponse['receipts']>,
  calls: readonly Call[] = [],
): string => {
  const numbered = calls.filter((call) => call.number !== undefined)
  const summaries = numbered.filter(({ kind }) => kind === 'summary').length
  const kinds =
    summaries === 0
      ? ''
      : ` ${number(numbered.length - summaries)} of the calls with a receipt were for replies, ${number(summaries)} for summaries.`
  const parts = [
    ...(verified > 0
      ? [
          `${count(verified, 'call')} verified: rebuilt from the log, each request matches the one that was sent`,
        ]
      : []),
    ...(differs > 0 ? [`${number(differs)} that ${differs === 1 ? 'differs' : 'differ'}`] : []),
    ...(erased > 0 ? [`${number(erased)} not checkable: content that they showed was erased`] : []),
    ...(missing > 0
      ? [`${count(missing, 'reply', 'replies')} without a receipt, after calls that have one`]
      : []),
    ...(reconstructed > 0
      ? [
          `${count(reconstructed, 'reply', 'replies')} without a receipt: the request that was sent was not recorded`,
        ]
      : []),
  ]
  return parts.length === 0 ? 'No call of a model is recorded.' : `${parts.join('; ')}.${kinds}`
}
