import type { TimelineEntry } from '../../projections/timeline.ts'

/** The part of the graph in the row of one event, with two characters per lane. */
export interface GraphRow {
  /** The text of the graph to the left of the node. `right` is the text after the node. */
  readonly left: string
  readonly node: string
  readonly right: string
}

/** Maximum number of lanes, so that the graph leaves room for the text. Further branches share the last lane. */
const maxLanes = 12

interface Line {
  readonly branch: number
  /** Row of the node from which the branch forks; undefined for a branch that starts at the root. */
  readonly fork: number | undefined
  readonly first: number
  last: number
  lane: number
}

/**
 * Draws the tree of branches, oldest event first, one line per branch:
 *
 * ```
 * ●─╮    0
 * ○ │    1
 * × │    2   rewound to 0: the × is on the abandoned branch
 *   ●    3
 * ```
 *
 * @param entries every event from position 0 on, as returned by `timeline`
 * @param glyphOf returns the glyph of an event's node, one column wide
 */
export const graphRows = (
  entries: readonly TimelineEntry[],
  glyphOf: (entry: TimelineEntry) => string,
): readonly GraphRow[] => {
  const branches = rowBranches(entries)
  const lines = linesOf(entries, branches)
  allot(lines)
  const width = lines.reduce((most, { lane }) => Math.max(most, lane), 0) + 1
  const byBranch = new Map(lines.map((line) => [line.branch, line]))
  const starts = Map.groupBy(lines, ({ fork }) => fork ?? -1)
  let alive: readonly Line[] = []
  return entries.map((entry, row) => {
    const lane = byBranch.get(branches[row] ?? 0)?.lane ?? 0
    const begun = lines.filter(({ fork, first }) => fork === undefined && first === row)
    const forked = starts.get(row) ?? []
    alive = [...alive.filter(({ last }) => last >= row), ...begun]
    const through = new Set(alive.map((line) => line.lane))
    alive = [...alive, ...forked]
    return drawn(
      lane,
      width,
      through,
      forked.map((line) => line.lane),
      glyphOf(entry),
    )
  })
}

/** Returns the branch on which each row's node is drawn. A rewind is drawn on the branch that it abandons. */
const rowBranches = (entries: readonly TimelineEntry[]): readonly number[] => {
  let current = 0
  return entries.map(({ event, branch }) => {
    const own = event.type === 'Rewound' ? current : branch
    current = branch
    return own
  })
}

const linesOf = (entries: readonly TimelineEntry[], branches: readonly number[]): readonly Line[] => {
  const lines = new Map<number, Line>()
  entries.forEach(({ parent }, row) => {
    const branch = branches[row] ?? 0
    const line = lines.get(branch)
    const fork = lines.size === 0 || parent < 0 ? undefined : parent
    if (line) line.last = row
    else lines.set(branch, { branch, fork, first: row, last: row, lane: 0 })
  })
  return [...lines.values()].toSorted(
    (a, b) => (a.fork ?? a.first) - (b.fork ?? b.first) || a.branch - b.branch,
  )
}

/** Assigns each branch the leftmost lane that is free from its fork to its last event. */
const allot = (lines: readonly Line[]): void => {
  const until: number[] = []
  for (const line of lines) {
    const start = line.fork ?? line.first
    const free = until.findIndex((end) => end < start)
    line.lane = Math.min(free < 0 ? until.length : free, maxLanes - 1)
    until[line.lane] = line.last
  }
}

const drawn = (
  lane: number,
  width: number,
  through: ReadonlySet<number>,
  forked: readonly number[],
  glyph: string,
): GraphRow => {
  const from = forked.reduce((least, other) => Math.min(least, other), lane)
  const to = forked.reduce((most, other) => Math.max(most, other), lane)
  let left = ''
  let right = ''
  for (let column = 0; column < width; column++) {
    const bar = column >= from && column < to ? '─' : ' '
    if (column === lane) right = bar
    else if (column < lane) left += cell(column, from, to, through, forked) + bar
    else right += cell(column, from, to, through, forked) + bar
  }
  return { left, node: glyph, right }
}

const cell = (
  column: number,
  from: number,
  to: number,
  through: ReadonlySet<number>,
  forked: readonly number[],
): string => {
  if (forked.includes(column)) return column === to ? '╮' : column === from ? '╭' : '┬'
  const isCrossed = column > from && column < to
  if (through.has(column)) return isCrossed ? '┼' : '│'
  return isCrossed ? '─' : ' '
}
