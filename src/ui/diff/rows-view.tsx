import './diff.css'
import { useState } from 'preact/hooks'
import { hrefs } from '../url.ts'
import { count } from '../words.ts'
import { excerptOf, inkOf, kindOf, textOf, type ExcerptEntry } from './excerpt.ts'
import { type DiffRowChange, type DiffRow, diffRows, foldRow, reasonOf, stretchesOf } from './rows.ts'
import { WordsChanged } from './words-changed.tsx'

interface EntryLineProps {
  /** Conversation of the entry; undefined for a message of a request, which has no position to link to. */
  readonly id?: string | undefined
  readonly entry: ExcerptEntry
}

/** Shows an entry on one line, with a link to its position. */
export const EntryLine = ({ id, entry }: EntryLineProps) => {
  const cells = (
    <>
      <span class="position figures">{entry.position}</span>
      <span class={`kind ${inkOf(entry)}`}>{kindOf(entry)}</span>
      <span class="excerpt" dir="auto">
        {excerptOf(entry) === '' ? <i>empty</i> : excerptOf(entry)}
      </span>
    </>
  )
  if (id === undefined) return <div class="diff-entry">{cells}</div>
  return (
    <a class="diff-entry" href={hrefs.conversation(id, { at: entry.position })}>
      {cells}
    </a>
  )
}

const signs = { kept: '=', came: '+', left: '−', turned: '≠', changed: '≠' } as const
const spoken = {
  kept: 'kept',
  came: 'added',
  left: 'removed',
  turned: 'changed',
  changed: 'changed',
} as const

interface DiffRowsProps {
  readonly id: string
  readonly changes: readonly DiffRowChange<ExcerptEntry>[]
}

/** Shows the difference between two positions, one row per run of entries with the same change. */
export const DiffRows = ({ id, changes }: DiffRowsProps) => {
  const rows = diffRows(changes)
  if (rows.length === 0) return <p class="faint">The model sees nothing at either.</p>
  return <DiffList id={id} rows={rows} />
}

interface DiffListProps {
  /** Conversation of the entries; undefined if they are messages of a request. */
  readonly id?: string | undefined
  readonly rows: readonly DiffRow<ExcerptEntry>[]
}

export const DiffList = ({ id, rows }: DiffListProps) => (
  <div role="list" class="diff">
    {rows.map((row, index) => (
      <div key={index} role="listitem" class={`diff-row ${row.kind}`}>
        <span class="sign" aria-label={spoken[row.kind]}>
          {signs[row.kind]}
        </span>
        <div class="diff-body">
          <Row id={id} row={row} />
        </div>
      </div>
    ))}
  </div>
)

interface RowProps {
  readonly id: string | undefined
  readonly row: DiffRow<ExcerptEntry>
}
const Row = ({ id, row }: RowProps) => {
  if (row.kind === 'changed') return <Changed id={id} {...row} />
  const { entries } = row
  const isTold = row.kind === 'left' || row.kind === 'turned' || (row.kind === 'came' && hasFate(row))
  return (
    <>
      {isTold && (
        <p class={`fate ${row.status}`}>
          <span class="figures">{stretchesOf(entries)}</span> · {count(entries.length, 'item')}{' '}
          {reasonOf(row.status ?? '')}{' '}
          {id !== undefined && row.by !== undefined && (
            <a href={hrefs.conversation(id, { at: row.by })}>{row.by}</a>
          )}
        </p>
      )}
      <Folded id={id} entries={entries} isOpen={false} isKept={row.kind === 'kept'} />
    </>
  )
}

/** Reports whether entries have a status worth showing, that is, a status other than `active`. */
const hasFate = ({ status = 'active' }: { readonly status?: string }): boolean => status !== 'active'

type ChangedProps = Pick<RowProps, 'id'> & Extract<DiffRow<ExcerptEntry>, { readonly kind: 'changed' }>

/** Shows a changed message, with deleted and inserted words marked. */
const Changed = ({ id, before, after }: ChangedProps) => (
  <>
    <p class="fate">
      <span class="figures">{before.position}</span>{' '}
      {id === undefined ? (
        'changed'
      ) : (
        <>
          was edited by <a href={hrefs.conversation(id, { at: after.position })}>{after.position}</a>
        </>
      )}
      {(before.cuts ?? after.cuts) !== undefined && '; the beginnings are compared'}
    </p>
    <WordsChanged before={textOf(before)} after={textOf(after)} />
  </>
)

interface FoldedProps {
  readonly id: string | undefined
  readonly entries: readonly ExcerptEntry[]
  readonly isOpen: boolean
  readonly isKept: boolean
}

/**
 * Shows the first and last entries of a long row, and a button with the number of entries between them. If the entries are unchanged,
 * shows only their number at first.
 */
const Folded = ({ id, entries, isOpen, isKept }: FoldedProps) => {
  const [open, setOpen] = useState(isOpen)
  const { before, folded, after } =
    isKept && !open && entries.length > 1
      ? { before: [], folded: entries.length, after: [] }
      : foldRow(entries, open)
  const more = isKept ? `${count(folded, 'item')} kept` : count(folded, 'more', 'more')
  return (
    <>
      {before.map((entry) => (
        <EntryLine key={entry.position} id={id} entry={entry} />
      ))}
      {folded > 0 && (
        <button type="button" class="more" aria-expanded={false} onClick={() => setOpen(true)}>
          {isKept ? <span class="figures">{stretchesOf(entries)} · </span> : '… '}
          {more}
        </button>
      )}
      {after.map((entry) => (
        <EntryLine key={entry.position} id={id} entry={entry} />
      ))}
    </>
  )
}
