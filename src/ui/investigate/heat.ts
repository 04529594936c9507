// Probabilities over an axis of positions, in columns of pixels.

export interface Column {
  readonly x: number
  readonly width: number
  /** Probability divided by the highest one, from 0 to 1. */
  readonly share: number
  /** Index of the most likely candidate in the column. */
  readonly index: number
}

/** Returns the width of a position, in CSS pixels. */
export const stepOf = (count: number, width: number): number => Math.min(28, width / Math.max(1, count))

/**
 * Returns the left edge and the width of a bar, in CSS pixels. As on the ribbon, a bar is at most 14 px wide and centred in its column;
 * in columns narrower than 2 px, bars have no gaps.
 */
const across = (index: number, step: number): Pick<Column, 'x' | 'width'> => {
  const x = placeOf(index, step)
  if (step < 2) return { x, width: Math.max(1, Math.floor((index + 1) * step) - x) }
  const width = Math.min(14, step - 1)
  return { x: x + (step - width) / 2, width }
}

const placeOf = (index: number, step: number): number => (step >= 2 ? index * step : Math.floor(index * step))

/** Returns the columns for the candidates. Candidates at the same pixel share a column, which shows the most likely of them. */
export const columnsOf = (probabilities: readonly number[], width: number): readonly Column[] => {
  const count = probabilities.length
  const most = probabilities.reduce((all, one) => Math.max(all, one), 0)
  if (count === 0 || width <= 0 || most === 0) return []
  const step = stepOf(count, width)
  const columns: Column[] = []
  let last = -1
  for (const [index, probability] of probabilities.entries()) {
    const x = placeOf(index, step)
    const share = probability / most
    const before = columns.at(-1)
    if (before === undefined || last !== x) {
      columns.push({ ...across(index, step), share, index })
      last = x
    } else if (share > before.share) columns[columns.length - 1] = { ...before, share, index }
  }
  return columns
}
