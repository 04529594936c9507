import type { DiffChange, Diff } from '../../projections/diff.ts'
import { type TextSpan, plural } from '../text.ts'
import { itemParts, statusText } from './items.ts'

/** Number of unchanged items shown on each side of a change. Items further away are only counted. */
const context = 2

const signs = { kept: '  ', appeared: '+ ', disappeared: '- ' } as const
const paints = { kept: 'dim', appeared: 'user', disappeared: 'warning' } as const

/**
 * Formats a difference as lines: `-` for an item that the model no longer sees, `+` for one that it sees now. Long runs of unchanged
 * items are replaced by their number.
 */
export const diffLines = ({ changes }: Diff): readonly (readonly TextSpan[])[] => {
  const lines: (readonly TextSpan[])[] = []
  let skipped = 0
  const flush = (): void => {
    if (skipped > 0) lines.push([[`         ⋮ ${plural(skipped, 'item')} unchanged`, 'dim']])
    skipped = 0
  }
  changes.forEach((change, index) => {
    if (isFar(changes, index)) {
      skipped++
      return
    }
    flush()
    lines.push(changeParts(change))
  })
  flush()
  return lines
}

const isFar = (changes: readonly DiffChange[], index: number): boolean =>
  changes.slice(Math.max(0, index - context), index + context + 1).every(({ change }) => change === 'kept')

const changeParts = ({ change, entry }: DiffChange): readonly TextSpan[] => {
  const paint = paints[change]
  const why = change === 'disappeared' && entry.status !== 'active' ? `${statusText(entry)}: ` : ''
  const [position = [''], label = [''], ...body] = itemParts(entry)
  const told: readonly TextSpan[] = [position, [signs[change], paint], label, [why, 'marker'], ...body]
  return change === 'kept' ? told.map(([text]): TextSpan => [text, 'dim']) : told
}
