import type { FullResponse } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { Empty, Failed, Skeleton, useFetched } from '../states.tsx'
import { count, number } from '../words.ts'
import { commonPart, fateRows } from './fates.ts'
import { DiffList } from './rows-view.tsx'
import type { DiffEnd } from './ends.ts'
import { Sums } from './sums.tsx'
import { apiOf } from '../url.ts'

/** Maximum number of entries compared: the last ones of each history. */
const most = 1_000

const none: Pick<FullResponse, 'items'> = { items: [] }

interface FullChangesProps {
  readonly source: ApiSource
  readonly one: DiffEnd
  readonly other: DiffEnd
}

/** Shows the differences between the full histories at two positions: new entries, and earlier entries whose status has changed. */
export const FullChanges = ({ source, one, other }: FullChangesProps) => {
  const path = ({ id, at }: DiffEnd) =>
    at < 0 ? undefined : apiOf(id, '/full', { at, last: most, abandoned: true, clip: 2_000 })
  const before = useFetched(source, path(one))
  const after = useFetched(source, path(other))
  const error = before.error ?? after.error
  if (error !== undefined) return <Failed error={error} />
  const [was, is] = [one.at < 0 ? none : before.value, other.at < 0 ? none : after.value]
  if (!was || !is) return <Skeleton />
  const common = commonPart(was.items, is.items, most)
  const rows = fateRows(common.before, common.after)
  const sum = (kind: string): number =>
    rows.reduce((all, row) => all + (row.kind === kind && 'entries' in row ? row.entries.length : 0), 0)
  return (
    <>
      <Sums left={sum('left')} came={sum('came')} turned={sum('turned')} kept={sum('kept')} />
      {rows.every(({ kind }) => kind === 'kept') ? (
        <Empty title="Nothing happened">
          <p class="faint">Both have the same {count(common.after.length, 'entry', 'entries')}.</p>
        </Empty>
      ) : (
        <DiffList id={other.id} rows={rows} />
      )}
      {common.from > 0 && (
        <p class="faint">
          Only what was written from position {number(common.from)} on is compared: the last {number(most)}{' '}
          entries.
        </p>
      )}
    </>
  )
}
