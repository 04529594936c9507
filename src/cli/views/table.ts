import Table from 'cli-table3'
import pc from 'picocolors'
import type { Output } from '../output.ts'
import { visible } from '../../formats/visible.ts'
import { cut, cutInside, widthOf } from '../text.ts'

const blank = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
}

/** What is left of a name on a narrow terminal. */
const leastName = 8

/**
 * Rows under headings on a terminal, the last column cut to its width, or the first, in its middle, if the last one has numbers, which
 * come closer to each other where they would not fit; tab-separated lines without headings in a pipe.
 */
export const writeTable = async (
  out: Output,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  rightAligned: readonly number[] = [],
): Promise<void> => {
  const shown = rows.map((row) => row.map(visible))
  if (!out.isTerminal) {
    for (const row of shown) await out.text(`${row.join('\t')}\n`)
    return
  }
  const at = rightAligned.includes(headings.length - 1) ? 0 : -1
  const widths = headings.map((heading, column) =>
    shown.reduce((width, row) => Math.max(width, widthOf(row[column] ?? '')), heading.length),
  )
  const leftBeside = (gap: number): number =>
    out.columns - widths.toSpliced(at, 1).reduce((sum, width) => sum + width + gap, 0)
  const gap = at === 0 && leftBeside(2) < leastName ? 1 : 2
  const left = leftBeside(gap)
  const table = new Table({
    head: headings.map((heading) => pc.dim(heading)),
    chars: { ...blank, middle: ' '.repeat(gap) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: headings.map((_, column) => (rightAligned.includes(column) ? 'right' : 'left')),
  })
  for (const row of shown) {
    const long = row.at(at) ?? ''
    table.push(row.with(at, at === 0 ? cutInside(long, Math.max(left, leastName)) : cut(long, left)))
  }
  for (const line of table.toString().split('\n')) await out.text(`${line.trimEnd()}\n`)
}
