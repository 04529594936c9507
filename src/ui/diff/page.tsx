import '../tabs.css'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import { Bar, Empty, Failed, Skeleton, useFetched } from '../states.tsx'
import type { ApiSource } from '../source/source.ts'
import { hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { count } from '../words.ts'
import { Configurations } from './configurations.tsx'
import { Cut } from './cut.tsx'
import { type DiffEnd, type Ends, endsOf, hrefOf, type Subject, subjectNames, subjects } from './ends.ts'
import type { ExcerptEntry } from './excerpt.ts'
import { FullChanges } from './full.tsx'
import { RequestChanges } from './requests.tsx'
import { DiffRows } from './rows-view.tsx'
import { type DiffRowChange, sumsOf } from './rows.ts'
import { Sums } from './sums.tsx'
import { useChanges } from './use-changes.ts'
import { Why } from './why.tsx'

/** Shows the differences between two positions of one conversation, or of two. */
export const DiffPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const ends = endsOf(id, search)
  const { from, to, of } = ends
  const { value: now } = useFetched(source, apiPathOf('/conversations/{id}', { id }))
  const last = now?.position
  const { changes, sides, error, isBusy, retry } = useChanges(
    source,
    id,
    { ...ends, to: to ?? last },
    of === 'effective',
  )
  const isOne = ends.other === undefined
  const goTo = (next: Partial<Ends>): void =>
    go(hrefOf(id, { ...ends, to: to ?? last, ...next }), { replace: true })
  const moved = (by: number) => {
    const next = (to ?? last ?? 0) + by
    return next >= -1 && (last === undefined || next <= last) ? () => goTo({ to: next }) : undefined
  }
  useActions({
    next: moved(1),
    previous: moved(-1),
    goToRow: () => go(hrefs.conversation(ends.other ?? id, { at: to })),
  })
  const shownTo = to ?? last ?? from
  const both = { one: { id, at: from }, other: { id: ends.other ?? id, at: shownTo } }
  return (
    <>
      <Bar isBusy={isBusy} />
      <main class="plain differences" style={{ '--digits': String(last ?? '').length }}>
        <h2 class="page-title">What changed</h2>
        <form class="ends" onSubmit={(event) => event.preventDefault()}>
          <Field label="from" value={from} most={last} set={(position) => goTo({ from: position })} />
          <span aria-hidden="true" class="faint">
            →
          </span>
          <Field
            label="to"
            value={shownTo}
            most={isOne ? last : undefined}
            set={(position) => goTo({ to: position })}
          />
          {ends.other !== undefined && (
            <span class="faint">
              of <a href={hrefs.conversation(ends.other, { at: to })}>{ends.other}</a>
            </span>
          )}
          {isOne && (
            <button
              type="button"
              class="quiet"
              aria-label="Swap the two positions"
              onClick={() => goTo({ from: shownTo, to: from })}
            >
              ⇄
            </button>
          )}
        </form>
        <div class="ways">
          <div role="tablist" aria-label="What is compared">
            {subjectNames.map((one) => (
              <button
                key={one}
                type="button"
                role="tab"
                aria-selected={one === of}
                onClick={() => goTo({ of: one })}
              >
                {subjects[one]}
              </button>
            ))}
          </div>
        </div>
        {error !== undefined && <Failed error={error} retry={retry} />}
        {of === 'effective' && error === undefined && (
          <>
            {!changes && <Skeleton />}
            {changes && <Changes id={id} changes={changes} />}
            {changes && sides.map((side) => <Cut key={side.id} {...side} />)}
          </>
        )}
        {last !== undefined && of !== 'effective' && <Compared source={source} of={of} {...both} />}
        {last !== undefined && isOne && (of === 'full' || (of === 'effective' && changes)) && (
          <Why
            source={source}
            id={id}
            after={Math.min(from, shownTo)}
            to={Math.max(from, shownTo)}
            changes={changes ?? []}
          />
        )}
      </main>
    </>
  )
}

interface ComparedProps {
  readonly source: ApiSource
  readonly of: Exclude<Subject, 'effective'>
  readonly one: DiffEnd
  readonly other: DiffEnd
}
const Compared = ({ of, ...both }: ComparedProps) => {
  if (of === 'full') return <FullChanges {...both} />
  return of === 'request' ? <RequestChanges {...both} /> : <Configurations {...both} />
}

const Changes = ({
  id,
  changes,
}: {
  readonly id: string
  readonly changes: readonly DiffRowChange<ExcerptEntry>[]
}) => {
  const { left, came, kept } = sumsOf(changes)
  return left + came === 0 ? (
    <Empty title="Nothing changed for the model">
      <p class="faint">It sees the same {count(changes.length, 'item')} at both.</p>
    </Empty>
  ) : (
    <>
      <Sums left={left} came={came} kept={kept} />
      <DiffRows id={id} changes={changes} />
    </>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: number
  readonly most: number | undefined
  readonly set: (position: number) => void
}
const Field = ({ label, value, most, set }: FieldProps) => (
  <label>
    <span class="faint">{label}</span>{' '}
    <input
      type="number"
      class="figures"
      min={-1}
      max={most}
      value={value}
      onChange={(event) => {
        const { valueAsNumber: position } = event.currentTarget
        if (Number.isSafeInteger(position) && position >= -1) set(Math.min(position, most ?? Infinity))
      }}
    />
  </label>
)
