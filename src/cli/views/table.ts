import Table from 'cli-table3'
import pc from 'picocolors'
import type { Output } from '../output.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { cutMiddle, cutToWidth, linesOf, widthOf } from '../text.ts'

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

/** Number of lines that a text below its row may take. */
export const mostBelow = 3

/** Number of columns below which prose gets more room by narrower gaps. */
const leastProse = 20

/**
 * Writes a table. On a terminal, rows are shown under headings, with narrower gaps if the columns do not fit; in a pipe, rows are
 * tab-separated lines without headings. Only the last column may be cut, and only if it is prose, because users copy names and paths; or
 * it moves to lines of its own, below each row, if it does not fit.
 */
export const writeTable = async (
  out: Output,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  rightAligned: readonly number[] = [],
  prose?: 'last is prose' | 'last may go below',
): Promise<void> => {
  const shown = rows.map((row) => row.map(visible))
  if (!out.isTerminal) {
    for (const row of shown) await out.text(`${row.join('\t')}\n`)
    return
  }
  const last = headings.length - 1
  const widths = headings.map((heading, column) =>
    shown.reduce((width, row) => Math.max(width, widthOf(row[column] ?? '')), heading.length),
  )
  const leftBeside = (gap: number): number =>
    out.columns - widths.slice(0, last).reduce((sum, width) => sum + width + gap, 0)
  const least = Math.min(prose ? leastProse : Infinity, widths[last] ?? 0)
  const gap = leftBeside(2) < least ? 1 : 2
  const left = prose ? Math.max(1, leftBeside(gap)) : Infinity
  const isBelow = prose === 'last may go below' && (widths[last] ?? 0) > left
  const table = new Table({
    head: headings.slice(0, isBelow ? last : undefined).map((heading) => pc.dim(heading)),
    chars: { ...blank, middle: ' '.repeat(gap) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: headings.map((_, column) => (rightAligned.includes(column) ? 'right' : 'left')),
  })
  for (const row of shown)
    table.push(
      isBelow
        ? row.slice(0, last)
        : row.map((text, column) => (column === last ? cutToWidth(text, left) : text)),
    )
  for (const [index, line] of table.toString().split('\n').entries()) {
    await out.text(`${line.trimEnd()}\n`)
    // The first line has the headings.
    const below = isBelow ? shown[index - 1]?.[last] : undefined
    if (below)
      for (const part of linesOf(cutMiddle(below, mostBelow * (out.columns - 2)), out.columns - 2))
        await out.text(`  ${part}\n`)
  }
}
