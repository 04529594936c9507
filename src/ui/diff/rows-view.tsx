import './diff.css'
import { useState } from 'preact/hooks'
import { Exact } from '../blocks/shown.tsx'
import { hrefs } from '../url.ts'
import { count } from '../words.ts'
import { excerptOf, inkOf, kindOf, type Told } from './excerpt.ts'
import { type Change, type DiffRow, diffRows, foldedOf, reasonOf, stretchesOf } from './rows.ts'
import { WordsChanged } from './words-changed.tsx'

/** An entry in a line, with a link to its position. */
export const EntryLine = ({ id, entry }: { readonly id: string; readonly entry: Told }) => (
  <a class="entry" href={hrefs.conversation(id, { at: entry.position })}>
    <span class="position figures">{entry.position}</span>
    <span class={`kind ${inkOf(entry)}`}>
      <Exact text={kindOf(entry)} />
    </span>
    <span class="excerpt" dir="auto">
      {excerptOf(entry) === '' ? <i>empty</i> : <Exact text={excerptOf(entry)} />}
    </span>
  </a>
)

const signs = { kept: '=', came: '+', left: '−', changed: '≠' } as const
const spoken = { kept: 'kept', came: 'came', left: 'left', changed: 'changed' } as const

interface DiffRowsProps {
  readonly id: string
  readonly changes: readonly Change<Told>[]
}

/** The difference of two positions, a row for all that share a fate. */
export const DiffRows = ({ id, changes }: DiffRowsProps) => {
  const rows = diffRows(changes)
  if (rows.length === 0) return <p class="faint">The model sees nothing at either.</p>
  return (
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
}

const Row = ({ id, row }: { readonly id: string; readonly row: DiffRow<Told> }) => {
  if (row.kind === 'changed')
    return (
      <>
        <p class="fate">
          <span class="figures">{row.before.position}</span> was edited by{' '}
          <a href={hrefs.conversation(id, { at: row.after.position })}>{row.after.position}</a>
        </p>
        <WordsChanged before={excerptOf(row.before)} after={excerptOf(row.after)} />
      </>
    )
  const { entries } = row
  return (
    <>
      {row.kind === 'left' && (
        <p class={`fate ${row.status}`}>
          <span class="figures">{stretchesOf(entries)}</span> {count(entries.length, 'item')}{' '}
          {reasonOf(row.status)}{' '}
          {row.by !== undefined && <a href={hrefs.conversation(id, { at: row.by })}>{row.by}</a>}
        </p>
      )}
      <Folded id={id} entries={entries} isOpen={false} isKept={row.kind === 'kept'} />
    </>
  )
}

interface FoldedProps {
  readonly id: string
  readonly entries: readonly Told[]
  readonly isOpen: boolean
  readonly isKept: boolean
}

/** The first and the last of many entries, and how many are between; what was kept is only counted. */
const Folded = ({ id, entries, isOpen, isKept }: FoldedProps) => {
  const [open, setOpen] = useState(isOpen)
  const { before, folded, after } =
    isKept && !open && entries.length > 1
      ? { before: [], folded: entries.length, after: [] }
      : foldedOf(entries, open)
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
