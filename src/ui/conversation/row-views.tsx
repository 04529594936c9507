import { count, erasedText, number } from '../words.ts'
import { describe } from './kinds.ts'
import { MarkerRow } from './marker-row.tsx'
import { At, Erased, Message, type RowContext, Said } from './row-parts.tsx'
import { type HistoryRow, stateOf } from './rows.ts'
import type { ShownEntry } from '../source/answers.ts'

const hiddenState = (entry: ShownEntry, group: number): string => {
  const verb = entry.status === 'truncated' ? 'truncated' : 'condensed'
  return entry.by === group
    ? `hidden · ${verb} by ${entry.by}`
    : `hidden · ${verb} by ${entry.by}, itself under ${group}`
}

/** Shows a row with two cells: the full history, and the effective history. */
export const RowView = ({
  around,
  row,
  isSelected,
}: {
  readonly around: RowContext
  readonly row: HistoryRow
  readonly isSelected: boolean
}) => {
  switch (row.kind) {
    case 'same':
      return (
        <div class="cell both">
          <At around={around} position={row.position} />
          <div class="said">
            <Message around={around} item={row.item} />
          </div>
        </div>
      )
    case 'group':
      return <MarkerRow {...{ around, row, isSelected }} />
    case 'hidden':
      return (
        <div class="cell left past">
          <At around={around} position={row.position} />
          <div class="said">
            {row.entry.kind === 'message' ? (
              <Message around={around} item={row.entry} state={hiddenState(row.entry, row.group)} />
            ) : (
              <>
                <p class={`what tone-${row.entry.kind === 'summary' ? 'condensed' : 'truncated'}`}>
                  <span class="kind">{row.entry.kind}</span> of {count(row.entry.messagesHidden, 'message')}
                  <span class="state">
                    note {row.position}, itself {row.entry.status} by {row.entry.by}
                  </span>
                  <Erased item={row.entry} />
                </p>
                <Said around={around} item={row.entry} />
              </>
            )}
          </div>
        </div>
      )
    case 'more':
      return (
        <div class="cell left past">
          <span class="at" />
          <button type="button" class="more" onClick={() => around.more(row.group)}>
            load what came before
          </button>
        </div>
      )
    case 'jump': {
      const { from, to, by } = row.jump
      return (
        <div class="cell left">
          <At around={around} position={from} />
          <div class="said">
            <button
              type="button"
              class="fold tone-rewound"
              aria-expanded={row.isOpen}
              onClick={() => around.toggle(from)}
              tabIndex={-1}
            >
              <span class="twist" aria-hidden="true">
                ↩
              </span>
              <span>
                {count(to - from + 1, 'event')} abandoned by the rewind at {by}
              </span>
            </button>
          </div>
        </div>
      )
    }
    case 'abandoned':
      return (
        <div class="cell left past">
          <At around={around} position={row.position} />
          <div class="said">
            <Message around={around} item={row.entry} state={`abandoned · rewind at ${row.entry.by}`} />
          </div>
        </div>
      )
    case 'restored':
      return (
        <div class="cell left past">
          <At around={around} position={row.position} />
          <div class="said">
            <p class="what tone-restored">
              a marker, taken back by the restore at <At around={around} position={row.by} />
            </p>
          </div>
        </div>
      )
    case 'repair':
      return (
        <div class="cell right repair">
          <p class="what tone-assistant">
            <span class="kind">repaired in the request</span> {row.repair.detail}
            {row.times > 1 && ` (${number(row.times)} times)`}
          </p>
        </div>
      )
  }
}

export const rowLabel = (row: HistoryRow, names: ReadonlyMap<string, string>): string => {
  const item = 'item' in row ? row.item : 'entry' in row ? row.entry : undefined
  const what = item ? describe(item, names).words : row.kind
  const erased = erasedText(item?.erased)
  return [number(row.position), what, stateOf(row), ...(erased === undefined ? [] : [erased])].join(', ')
}
