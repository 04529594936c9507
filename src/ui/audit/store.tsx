import { apiPathOf } from '../../server/client/api-path.ts'
import type { PageProps } from '../page.ts'
import { Bar, Failed, Skeleton, useFetched } from '../states.tsx'
import { count, number } from '../words.ts'
import { useTitle } from '../use-title.ts'
import { Anchors, Fact, Key, VerdictWords, When } from './parts.tsx'
import type { StoreLedger } from '../source/answers.ts'
import { storeVerdict } from './verdict.ts'

/** Shows how the integrity of the whole store is proven. */
export const StoreAuditPage = ({ source }: PageProps) => {
  const { value, error, isBusy, retry } = useFetched(source, apiPathOf('/audit'))
  useTitle('Audit')
  return (
    <>
      <Bar isBusy={isBusy} />
      <main class="plain audit">
        <h1>Audit</h1>
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!value && error === undefined && <Skeleton />}
        {value && <VerdictWords verdict={storeVerdict(value.ledger)} />}
        {value?.ledger && <LedgerFacts ledger={value.ledger} />}
        {value?.ledger && (
          <p class="faint aside">
            This is what the store reports about itself.{' '}
            <code>palimpsest audit verify --anchor PLACE --key KEY</code> reads everything, and compares it
            with what is kept elsewhere and with the key that you were given.
          </p>
        )}
      </main>
    </>
  )
}

const LedgerFacts = ({ ledger }: { readonly ledger: StoreLedger }) => (
  <>
    <section>
      <h2>Ledger</h2>
      <dl class="facts">
        <Fact name="origin">
          <bdi>{ledger.origin}</bdi>
        </Fact>
        {ledger.again && (
          <Fact name="begun again">
            <When time={ledger.again.time} />: <bdi>{ledger.again.reason}</bdi>
          </Fact>
        )}
        <Fact name="entries">{number(ledger.size)}</Fact>
        {ledger.sealed !== undefined && (
          <Fact name="last checkpoint">
            <When time={ledger.sealed} />
          </Fact>
        )}
        <Fact name="not sealed">{count(ledger.unsealed, 'conversation')}</Fact>
        <Fact name="exposed">{exposure(ledger)}</Fact>
        <Fact name="verifier key">
          <Key text={ledger.key} />
        </Fact>
      </dl>
      {ledger.checkpoint !== undefined && (
        <details class="checkpoint">
          <summary>the checkpoint, as it is signed</summary>
          <pre tabIndex={0}>{ledger.checkpoint}</pre>
        </details>
      )}
    </section>
    <Anchors
      anchors={ledger.anchors}
      holds={(size) =>
        size === ledger.size
          ? 'has the last checkpoint'
          : `has ${number(size)} of ${count(ledger.size, 'entry', 'entries')}`
      }
    />
  </>
)

const exposure = ({ exposedSince }: StoreLedger) => {
  if (exposedSince === undefined) return 'nothing could be rewritten unnoticed'
  if (exposedSince === 'beginning')
    return 'everything could be rewritten unnoticed by anyone who also has the key'
  return (
    <>
      what was written since <When time={exposedSince} /> could be rewritten unnoticed
    </>
  )
}
