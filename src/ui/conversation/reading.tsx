import { useMemo } from 'preact/hooks'
import type { Acts } from '../acts/use-acts.tsx'
import type { MarkerStoryResponse, WaitingCallItem } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { Empty, Failed, Skeleton } from '../states.tsx'
import type { Pane } from '../url.ts'
import { number } from '../words.ts'
import { WaitingCalls } from '../workers/waiting.tsx'
import { useDecisions } from './fetching/use-decisions.ts'
import { List } from './list.tsx'
import type { RowContext } from './row-parts.tsx'
import { useStable } from './stable.ts'
import type { PageControls } from './use-handlers.tsx'
import type { PositionView } from './use-rows.ts'
import type { RowSelection } from './use-selected.ts'
import type { Sight } from './use-sight.ts'

interface ReadingProps {
  readonly source: ApiSource
  readonly id: string
  readonly sight: Sight
  readonly shown: PositionView
  readonly selected: RowSelection
  readonly doing: PageControls
  /** True if the full history and the effective history differ. */
  readonly isSplit: boolean
  readonly waiting: readonly WaitingCallItem[] | undefined
  /** True if the decisions on calls are shown. */
  readonly hasDecisions: boolean
  readonly acts: Acts
  /** Story of the selected marker. */
  readonly story: MarkerStoryResponse | undefined
}

/** Shows the full history beside the effective history. */
export const Reading = ({ source, id, sight, isSplit, waiting, ...list }: ReadingProps) => {
  const { value, error, again, view } = sight
  const rows = useList({ source, id, sight, ...list })
  return (
    <section class="reading" aria-label="History">
      <Headings pane={view.pane} isSplit={isSplit} at={value?.at} />
      {error !== undefined && <Failed error={error} retry={again} />}
      {!value && error === undefined && <Skeleton rows={9} />}
      {rows}
      {waiting && waiting.length > 0 && (
        <WaitingCalls {...{ source, id, waiting }} off={list.acts.off} decided={again} />
      )}
    </section>
  )
}

/** Returns the list of rows. The list is memoized, so that rows are not compared while only the position changes. */
const useList = ({
  source,
  id,
  sight: { value, view, outline },
  shown,
  selected,
  doing,
  hasDecisions,
  acts,
  story,
}: Omit<ReadingProps, 'isSplit' | 'waiting'>) => {
  const { rows, names, outcomes, hidden } = shown
  const decisions = useDecisions(source, id, hasDecisions ? value?.at : undefined, outline)
  const { index, brought } = selected
  const { whole, ends } = doing
  const select = useStable(selected.select)
  const toggle = useStable(doing.toggle)
  const more = useStable(shown.more)
  const revealed = useStable(doing.reveal)
  const restore = useStable(acts.restore)
  const forkAt = useStable(acts.forkAt)
  const at = value?.at
  const around = useMemo(
    (): RowContext => ({
      source,
      conversation: id,
      view,
      at: at ?? -1,
      names,
      outcomes,
      decisions,
      hidden,
      toggle,
      more,
      whole,
      outline,
      story,
      reveal: revealed,
      acts: { off: acts.off, restore, forkAt },
    }),
    [source, id, view, at, names, outcomes, decisions, hidden, whole, outline, story, acts.off],
  )
  return useMemo(() => {
    if (at === undefined) return null
    if (rows.length === 0) return <Empty title="Nothing has been said yet" />
    return (
      <List
        {...{ rows, around }}
        selected={index}
        onSelect={select}
        place={`${at} ${view.pane} ${ends}`}
        show={brought}
      />
    )
  }, [at, rows, around, index, brought, ends])
}

const headings: Readonly<Record<Pane, string>> = {
  all: 'What happened',
  both: 'What happened; the model sees all of it',
  model: 'What the model sees',
}

interface HeadingsProps {
  readonly pane: Pane
  readonly isSplit: boolean
  readonly at: number | undefined
}
const Headings = ({ pane, isSplit, at }: HeadingsProps) => (
  <div class="headings">
    {isSplit && pane === 'both' ? (
      <>
        <h2>What happened</h2>
        <h2>What the model sees at {at === undefined ? '' : number(at)}</h2>
      </>
    ) : (
      <h2>{headings[pane]}</h2>
    )}
  </div>
)
