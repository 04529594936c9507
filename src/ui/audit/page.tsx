import { useSession } from '../acts/session.ts'
import type { PageProps } from '../page.ts'
import { openSheet } from '../sheet.tsx'
import { Bar, Failed, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { count, number } from '../words.ts'
import { Calls } from './calls.tsx'
import { EvidenceSheet } from './evidence-sheet.tsx'
import { Anchors, Fact, Key, VerdictWords, When } from './parts.tsx'
import type { VerificationResponse, AuditHead, ConversationAuditResponse } from '../source/answers.ts'
import { verdictOf } from './verdict.ts'

/** Shows how a conversation's integrity is proven, and which parts remain unproven. */
export const AuditPage = ({ source, params: { id = '' } }: PageProps) => {
  const standing = useFetched(source, apiOf(id, '/audit'))
  const checked = useFetched(source, apiOf(id, '/verification'))
  const last = standing.value?.last
  // If both requests failed, only one error is shown, so its button retries both.
  const retry = (): void => {
    standing.retry()
    if (checked.error !== undefined) checked.retry()
  }
  const save = (): void => openSheet(<EvidenceSheet {...{ source, id }} last={last ?? 0} />)
  const isOff = useSession(source)?.isReadOnly === true
  useActions({ evidence: last === undefined || last < 0 || isOff ? undefined : save })
  const verdict = verdictOf(standing.value, checked.value, checked.isBusy)
  const isKnown = verdict.tone === 'bad' || (standing.error === undefined && checked.error === undefined)
  return (
    <>
      <Bar isBusy={standing.isBusy || checked.isBusy} />
      <main class="plain audit">
        {!isKnown && <h2 class="sr-only">Audit</h2>}
        {isKnown && (
          <VerdictWords verdict={verdict}>
            {verdict.position !== undefined && verdict.position >= 0 && last !== -1 && (
              <p>
                <a
                  href={hrefs.conversation(id, { at: Math.min(verdict.position, last ?? verdict.position) })}
                >
                  look at {number(verdict.position)}
                </a>
              </p>
            )}
          </VerdictWords>
        )}
        {standing.error !== undefined && <Failed error={standing.error} retry={retry} />}
        {(checked.value ?? checked.isBusy) && <Chain checked={checked.value} isBusy={checked.isBusy} />}
        {checked.error !== undefined && standing.error === undefined && (
          <Failed error={checked.error} retry={checked.retry} />
        )}
        {standing.value?.ledger && (
          <Ledger id={id} standing={standing.value} ledger={standing.value.ledger} />
        )}
        <Calls source={source} id={id} checked={checked.value} />
        {last !== undefined && last >= 0 && (
          <section>
            <h2>Evidence</h2>
            <p>
              A folder for somebody who trusts neither this server nor its operator: the events, every
              request, the proof of the ledger, and a program in Python that checks them.
            </p>
            {isOff ? (
              <p class="faint">
                This server is read-only and cannot record exports. On the machine of the store, run{' '}
                <code>palimpsest audit export</code> instead.
              </p>
            ) : (
              <p>
                <button type="button" onClick={save}>
                  Save evidence …
                </button>
              </p>
            )}
          </section>
        )}
      </main>
    </>
  )
}

const Chain = ({
  checked,
  isBusy,
}: {
  readonly checked: VerificationResponse | undefined
  readonly isBusy: boolean
}) => (
  <section aria-busy={isBusy}>
    <h2>Hash chain</h2>
    {!checked && isBusy && <p class="faint">Reading every event …</p>}
    {checked && !checked.discrepancy && (
      <p>
        {count(checked.events, 'event')} of its own, {checked.events === 1 ? '' : 'each '}with the hash of the
        one before it.
      </p>
    )}
    {checked?.discrepancy && (
      <>
        <p>
          {count(checked.events, 'event')} unchanged, then there is a problem: the events after it are not
          checked.
        </p>
        <p class="faint">{checked.discrepancy.message}</p>
      </>
    )}
  </section>
)

interface LedgerProps {
  readonly id: string
  readonly standing: ConversationAuditResponse
  readonly ledger: NonNullable<ConversationAuditResponse['ledger']>
}

const Ledger = ({ id, standing: { last }, ledger }: LedgerProps) => {
  const { heads, anchors, first } = ledger
  const [newest] = heads
  const since = newest ? last - newest.position : last + 1
  return (
    <>
      <section>
        <h2>Ledger</h2>
        <dl class="facts">
          <Fact name="origin">
            <a href={hrefs.audit()}>
              <bdi>{ledger.origin}</bdi>
            </a>
          </Fact>
          {newest && (
            <Fact name="entry">
              {number(newest.index + 1)} of {number(ledger.size)}
            </Fact>
          )}
          <Fact name="not sealed">{since > 0 ? count(since, 'event') : 'nothing'}</Fact>
          {first > 0 && (
            <Fact name="inherited">{count(first, 'event')}, checked in what it was forked from</Fact>
          )}
          <Fact name="verifier key">
            <Key text={ledger.key} /> <span class="faint">Compare it with the one that you were given.</span>
          </Fact>
        </dl>
        {heads.length > 0 && <Heads id={id} heads={heads} />}
      </section>
      <Anchors anchors={anchors} holds={(size) => holds(heads, size)} />
    </>
  )
}

/** Describes which part of the conversation is covered by a checkpoint of `size` entries. */
const holds = (heads: readonly AuditHead[], size: number): string => {
  const held = heads.find(({ index }) => index < size)
  return held ? `through ${number(held.position)}` : 'nothing of it yet'
}

const states: Readonly<Record<AuditHead['state'], string>> = {
  same: 'the same',
  changed: 'another event now',
  gone: 'gone',
}
const most = 12

const Heads = ({ id, heads }: { readonly id: string; readonly heads: readonly AuditHead[] }) => (
  <div class="heads">
    {heads.slice(0, most).map(({ position, index, sealed, state, head }) => (
      <p key={index} class={`line ${state}`}>
        <span class="figures position">
          {state === 'gone' ? (
            number(position)
          ) : (
            <a href={hrefs.conversation(id, { at: position })}>{number(position)}</a>
          )}
        </span>
        <span class="state">
          <span aria-hidden="true">{state === 'same' ? '✓' : '✕'}</span> {states[state]}
        </span>
        <code class="grow faint" title={head}>
          {head.slice(0, 16)}…
        </code>
        <span class="faint">
          <When time={sealed} />
        </span>
      </p>
    ))}
    {heads.length > most && <p class="faint">{`${number(heads.length - most)} earlier`}</p>}
  </div>
)
