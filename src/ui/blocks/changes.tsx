import { useMemo, useState } from 'preact/hooks'
import { count, number } from '../words.ts'
import type { EditLine } from './edits.ts'
import { More } from './more.tsx'

interface ChangesProps {
  readonly lines: readonly EditLine[]
}

/** Number of lines shown at first, and added by each click. */
const step = 200
/** Number of unchanged lines shown around a change. */
const around = 3

const signs = { same: ' ', removed: '−', added: '+', heading: ' ' } as const

/** Shows the lines of an edit: removed and added lines have a sign and a background, and long runs of unchanged lines are left out. */
export const Changes = ({ lines }: ChangesProps) => {
  const [most, setMost] = useState(step)
  const all = useMemo(() => withGaps(lines), [lines])
  return (
    <div class="changes">
      {all.slice(0, most).map(({ kind, text }, index) => (
        <div key={index} class={kind}>
          <span class="sign">{signs[kind]}</span>
          <span class="line-text">{text}</span>
        </div>
      ))}
      {all.length > most && (
        <More onClick={() => setMost(most + step)}>
          {number(Math.min(step, all.length - most))} more of {count(all.length, 'line')}
        </More>
      )}
    </div>
  )
}

/** Replaces unchanged lines that are not near a change by a line that counts them. */
const withGaps = (lines: readonly EditLine[]): readonly EditLine[] => {
  const isNear = new Uint8Array(lines.length)
  for (const [index, { kind }] of lines.entries())
    if (kind !== 'same') isNear.fill(1, Math.max(0, index - around), index + around + 1)
  const shown: EditLine[] = []
  for (let from = 0; from < lines.length;) {
    let to = from
    while (to < lines.length && isNear[to] === 0) to++
    // A line that counts only a few would save nothing.
    if (to - from > around) shown.push({ kind: 'heading', text: `… ${count(to - from, 'unchanged line')}` })
    else shown.push(...lines.slice(from, to))
    for (from = to; from < lines.length && isNear[from] === 1; from++) shown.push(lines[from] as EditLine)
  }
  return shown
}
