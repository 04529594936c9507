import '../tabs.css'
import { useEffect, useState } from 'preact/hooks'
import { signed } from '../acts/preview.ts'
import { Header } from '../header.tsx'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import { Bar, Empty, Failed, Skeleton, useFetched } from '../states.tsx'
import { apiOf, hrefs, queryOf } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { count, number } from '../words.ts'
import { Configurations } from './configurations.tsx'
import { Cut } from './cut.tsx'
import type { Told } from './excerpt.ts'
import { DiffRows } from './rows-view.tsx'
import { type Change, sumsOf } from './rows.ts'
import { useChanges } from './use-changes.ts'
import { Why } from './why.tsx'

const subjects = ['what the model sees', 'configuration'] as const

/** How two positions differ, of one conversation or of two. */
export const DiffPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const ends = endsOf(id, search)
  const { from, to } = ends
  const [subject, setSubject] = useState<(typeof subjects)[number]>('what the model sees')
  const { value: now } = useFetched<{ readonly position: number }>(source, apiOf(id))
  const last = now?.position
  const { changes, sides, error, isBusy, retry } = useChanges(source, id, { ...ends, to: to ?? last })
  const isOne = ends.other === undefined
  const goTo = (next: Partial<Ends>): void => {
    const { other, ...both } = { ...ends, to: to ?? last, ...next }
    const end = other === undefined ? both.to : `${other}:${both.to ?? ''}`
    go(`/c/${encodeURIComponent(id)}/diff${queryOf({ from: both.from, to: end })}`, { replace: true })
  }
  const moved = (by: number) => {
    const next = (to ?? last ?? 0) + by
    return next >= -1 && (last === undefined || next <= last) ? () => goTo({ to: next }) : undefined
  }
  useActions({
    next: moved(1),
    previous: moved(-1),
    goToRow: () => go(hrefs.conversation(ends.other ?? id, { at: to })),
  })
  useEffect(() => {
    document.title = `${from} → ${to ?? 'now'} · ${id}`
  }, [id, from, to])
  const shownTo = to ?? last ?? from
  return (
    <>
      <Bar isBusy={isBusy} />
      <Header>
        <span class="crumb">
          <a href={hrefs.conversation(id)}>
            <bdi>{id}</bdi>
          </a>
        </span>
      </Header>
      <main class="plain differences">
        <h1>What changed</h1>
        <form class="ends" onSubmit={(event) => event.preventDefault()}>
          <End label="from" value={from} most={last} set={(position) => goTo({ from: position })} />
          <span aria-hidden="true" class="faint">
            →
          </span>
          <End
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
          {changes && <Sums changes={changes} />}
        </form>
        <div class="ways">
          <div role="tablist" aria-label="What is compared">
            {subjects.map((one) => (
              <button
                key={one}
                type="button"
                role="tab"
                aria-selected={one === subject}
                onClick={() => setSubject(one)}
              >
                {one}
              </button>
            ))}
          </div>
        </div>
        {error !== undefined && <Failed error={error} retry={retry} />}
        {subject === 'configuration' ? (
          <Configurations
            source={source}
            one={{ id, at: from }}
            other={{ id: ends.other ?? id, at: shownTo }}
          />
        ) : (
          error === undefined && (
            <>
              {!changes && <Skeleton />}
              {changes && <Changes id={id} changes={changes} />}
              {changes && sides.map((side) => <Cut key={side.id} {...side} />)}
              {changes && isOne && (
                <Why
                  source={source}
                  id={id}
                  after={Math.min(from, shownTo)}
                  to={Math.max(from, shownTo)}
                  changes={changes}
                />
              )}
            </>
          )
        )}
      </main>
    </>
  )
}

interface Ends {
  readonly from: number
  /** Undefined: the last position. */
  readonly to: number | undefined
  /** The conversation that `to` is of, if it is another one. */
  readonly other: string | undefined
}

/** `to` is a position, or `other:88`: one of another conversation. */
const endsOf = (id: string, search: string): Ends => {
  const query = new URLSearchParams(search)
  const [, conversation, text] = /^(?:(.+):)?(-?\d*)$/.exec(query.get('to') ?? '') ?? []
  return {
    from: whole(query.get('from')) ?? -1,
    to: whole(text),
    other: conversation === id ? undefined : conversation,
  }
}
const whole = (text: string | null | undefined): number | undefined =>
  text && /^(?:-1|\d{1,15})$/.test(text) ? Number(text) : undefined

const Changes = ({ id, changes }: { readonly id: string; readonly changes: readonly Change<Told>[] }) => {
  const { left, came } = sumsOf(changes)
  return left + came === 0 ? (
    <Empty title="Nothing changed for the model">
      <p class="faint">It sees the same {count(changes.length, 'item')} at both.</p>
    </Empty>
  ) : (
    <DiffRows id={id} changes={changes} />
  )
}

const Sums = ({ changes }: { readonly changes: readonly Change<Told>[] }) => {
  const { left, came, kept } = sumsOf(changes)
  return (
    <p class="sums figures">
      {left > 0 && <span class="left">{signed(-left)} left</span>}
      {came > 0 && <span class="came">{signed(came)} came</span>}
      <span class="faint">{number(kept)} kept</span>
    </p>
  )
}

interface EndProps {
  readonly label: string
  readonly value: number
  readonly most: number | undefined
  readonly set: (position: number) => void
}
const End = ({ label, value, most, set }: EndProps) => (
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
