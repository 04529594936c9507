import '../acts/acts.css'
import './audit.css'
import { useState } from 'preact/hooks'
import { download } from '../download.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import { problemOf, type ApiSource } from '../source/source.ts'
import { count, number } from '../words.ts'
import { callsIn, positionsIn, rangesOf } from './withhold.ts'
import { apiOf } from '../url.ts'

interface EvidenceSheetProps {
  readonly source: ApiSource
  readonly id: string
  readonly last: number
}

/** Parsed `palimpsest-evidence` header, which describes an evidence bundle. */
interface Told {
  readonly events: number
  readonly requests: number
  readonly isSealed: boolean
  /** Number of last events that the ledger does not prove yet. */
  readonly unsealed: number
  readonly omitted: number
  readonly withheld: number
  /** Positions of summaries made from withheld content (`tainted`), and of events that repeat withheld text word for word (`repeated`). */
  readonly tainted: readonly number[]
  readonly repeated: readonly number[]
}

/** Shows a form for downloading a conversation's evidence bundle, with the option to withhold events. */
export const EvidenceSheet = ({ source, id, last }: EvidenceSheetProps) => {
  const [calls, setCalls] = useState('')
  const [withhold, setWithhold] = useState('')
  const [reason, setReason] = useState('')
  const [isSaving, setSaving] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  const [told, setTold] = useState<Told>()
  const chosen = callsIn(calls)
  const withheld = positionsIn(withhold, last)
  const change = (set: (text: string) => void) => (event: { readonly currentTarget: HTMLInputElement }) => {
    setTold(undefined)
    setRefusal(undefined)
    set(event.currentTarget.value)
  }
  const save = async (positions: readonly number[]): Promise<void> => {
    setSaving(true)
    setRefusal(undefined)
    try {
      const why = reason.trim()
      const body = {
        withhold: positions,
        ...(chosen && { calls: chosen }),
        ...(why !== '' && { reason: why }),
      }
      const file = await source.file(apiOf(id, '/evidence'), body)
      download(file)
      setTold(JSON.parse(file.header('palimpsest-evidence') ?? 'null') as Told)
    } catch (error) {
      setRefusal(problemOf(error).detail)
    } finally {
      setSaving(false)
    }
  }
  const isReady = chosen !== undefined && withheld !== undefined && !isSaving
  return (
    <Sheet
      title="Save evidence"
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            {told ? 'Close' : 'Cancel'}
          </button>
          <button type="submit" form="evidence" class="primary" disabled={!isReady}>
            {isSaving ? 'Saving …' : 'Save'}
          </button>
        </>
      }
    >
      <p class="faint">
        A ZIP archive with <bdi>{id}</bdi> and everything that it was forked from, byte for byte. Whoever has
        it can read everything in it except what you withhold.
      </p>
      <form
        id="evidence"
        class="inputs"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) void save(withheld)
        }}
      >
        <label class="whole">
          withhold the events at (such as 12, 15-17)
          <input
            type="text"
            autofocus
            value={withhold}
            onInput={change(setWithhold)}
            aria-invalid={!withheld}
          />
        </label>
        <label class="whole">
          why (recorded with the export)
          <input type="text" maxLength={1_000} value={reason} onInput={change(setReason)} />
        </label>
        <label class="whole">
          only the requests of calls (such as 3-7)
          <input type="text" value={calls} onInput={change(setCalls)} aria-invalid={chosen === undefined} />
        </label>
      </form>
      {!withheld && <p class="refusal">Give positions from 0 to {number(last)}.</p>}
      {chosen === undefined && <p class="refusal">Give one call, or the first and the last.</p>}
      <p class="faint">
        For a withheld event, the archive contains its hash and the last bytes of its metadata. Requests that
        show the event are left out.
      </p>
      <div role="status">{told && <Saved told={told} />}</div>
      {told && withheld && (
        <Leaks
          told={told}
          withhold={(more) => {
            setWithhold(rangesOf([...withheld, ...more]))
            setTold(undefined)
          }}
        />
      )}
      {refusal !== undefined && (
        <p class="refusal" role="alert">
          {refusal}
        </p>
      )}
    </Sheet>
  )
}

interface LeaksProps {
  readonly told: Told
  readonly withhold: (positions: readonly number[]) => void
}

/** Lists events in the bundle that may reveal withheld content. */
const Leaks = ({ told: { tainted, repeated }, withhold }: LeaksProps) => (
  <>
    {tainted.length > 0 && (
      <p class="warning">
        <span aria-hidden="true">⚠ </span>
        {tainted.length === 1 ? 'The summary at' : 'The summaries at'} {rangesOf(tainted)}{' '}
        {tainted.length === 1 ? 'was' : 'were'} made from withheld content, and may repeat it.{' '}
        <button type="button" class="link" onClick={() => withhold(tainted)}>
          Withhold {tainted.length === 1 ? 'it' : 'them'} as well
        </button>
      </p>
    )}
    {repeated.length > 0 && (
      <p class="warning">
        <span aria-hidden="true">⚠ </span>Withheld text also occurs, word for word, in {rangesOf(repeated)}:
        check whether it may be shown.
      </p>
    )}
  </>
)

const Saved = ({
  told: { events, requests, withheld, omitted, isSealed, unsealed },
}: {
  readonly told: Told
}) => (
  <>
    <p>
      Saved: {count(events, 'event')}
      {withheld > 0 && `, ${number(withheld)} of them withheld`}, and {count(requests, 'request')}
      {omitted > 0 && `, without those of ${count(omitted, 'call')}`}.
    </p>
    {!isSealed && (
      <p class="warning">
        This conversation is not in a ledger: the bundle proves nothing against its operator.
      </p>
    )}
    {isSealed && unsealed > 0 && (
      <p class="warning">The last {count(unsealed, 'event')} are not sealed yet: seal, and save again.</p>
    )}
  </>
)
