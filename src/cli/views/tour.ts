import type { Item } from '../../index.ts'
import type { Entry } from '../../projections/full.ts'
import type { TimelineEntry } from '../../projections/timeline.ts'
import type { Output } from '../output.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { type TextSpan, plural, rangesText } from '../text.ts'
import { firstLine } from './content.ts'
import { itemParts } from './items.ts'
import { legend, timelineLines } from './timeline.ts'

/** The views of a conversation that the tour shows: timeline, effective history, full history. */
export interface Sides {
  readonly entries: readonly TimelineEntry[]
  readonly items: readonly Item[]
  readonly full: readonly Entry[]
}

/**
 * Shows a conversation in several views, with long lists shortened. `more` returns the command that prints a list in full, as the user
 * would type it.
 */
export const tour = async (
  out: Output,
  { entries, items, full }: Sides,
  more: (command: (id: string) => string) => string,
): Promise<void> => {
  await printHeading(out, 'Timeline', `${plural(entries.length, 'event')}, each with a permanent position`)
  await writeEnds(
    out,
    timelineLines(entries),
    more((id) => `log ${id} --all`),
  )
  for (const line of legend) await out.line([`       ${line}`, 'dim'])
  await printHeading(out, 'What the model sees now', 'the effective history')
  await writeEnds(
    out,
    items.map(itemParts),
    more((id) => `show ${id}`),
  )
  await printHeading(out, 'What it does not see', 'hidden or abandoned, never deleted')
  await writeEnds(
    out,
    hiddenLines(full, entries),
    more((id) => `show ${id} --full --abandoned`),
  )
}

/**
 * Maximum number of lines of a list that is shown in full. A longer list is reduced to its first and last lines. The lists of the
 * sample are shorter.
 */
const longest = 40
const shownOfEnd = 15

const writeEnds = async (
  out: Output,
  lines: readonly (readonly TextSpan[])[],
  command: string,
): Promise<void> => {
  const isWhole = lines.length <= longest
  for (const line of isWhole ? lines : lines.slice(0, shownOfEnd)) await out.parts(line)
  if (isWhole) return
  const left = (lines.length - 2 * shownOfEnd).toLocaleString('en')
  await writeWhole(out, `       ⋮ ${left} more: ${command}`)
  for (const line of lines.slice(-shownOfEnd)) await out.parts(line)
}

/** Writes a line at full length, as users may copy a command from it. */
export const writeWhole = (out: Output, line: string): Promise<void> => out.text(`${visible(line)}\n`)

export const printHeading = async (out: Output, title: string, what: string): Promise<void> => {
  await out.line()
  await out.line([title, 'bold'], [`  ${what}`, 'dim'])
}

/** Formats the events that hid or abandoned messages, one line each, with the reason. */
const hiddenLines = (
  full: readonly Entry[],
  entries: readonly TimelineEntry[],
): readonly (readonly TextSpan[])[] => {
  const groups = Map.groupBy(
    full.filter(({ kind, status, by }) => kind === 'message' && status !== 'active' && by !== undefined),
    ({ by }) => by ?? -1,
  )
  if (groups.size === 0) return [[['       nothing: the model sees everything', 'dim']]]
  return [...groups]
    .toSorted(([a], [b]) => a - b)
    .map(([by, hidden]) => [
      [`at ${by}`.padStart(8), 'position'],
      [
        `  ${plural(hidden.length, 'message')} (${rangesText(hidden.map(({ position }) => position))})  `,
        'bold',
      ],
      [reasonOf(entries[by])],
    ])
}

const reasonOf = (entry: TimelineEntry | undefined): string => {
  if (entry?.event.type === 'Condensed') return `condensed by the ${entry.event.data.method}`
  if (entry?.event.type !== 'Truncated' && entry?.event.type !== 'Rewound') return ''
  const { type, data } = entry.event
  const why = data.reason === undefined ? '' : `: ${firstLine(data.reason)}`
  return type === 'Truncated' ? `truncated${why}` : `abandoned by the rewind to ${entry.parent}${why}`
}
