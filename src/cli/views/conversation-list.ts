import type { ConversationInfo } from '../../index.ts'
import type { Output } from '../output.ts'
import { compact, recentText, widthOf } from '../text.ts'
import { usdText } from './money.ts'
import { writeTable } from './table.ts'

/** A conversation in a list, and its depth below the conversation that it belongs to. */
interface Leaf {
  readonly info: ConversationInfo
  readonly depth: number
}

/** Writes conversations as lines of fields that are separated by tabs. */
export const writePlainList = (out: Output, conversations: readonly ConversationInfo[]): Promise<void> =>
  writeTable(out, [], conversations.map(plainRow))

const plainRow = (info: ConversationInfo): readonly string[] => {
  const { id, messages, events, updated, status, tokens, cost, errors, model } = info
  return [id, messages, events, updated, titleOf(info), status, tokens, cost, errors, model].map((field) =>
    String(field ?? ''),
  )
}

/**
 * Writes conversations for a terminal, each under the one that it belongs to.
 *
 * @param needed ids of the conversations that need somebody: they come first, each with its tree
 * @param short short forms of the ids
 */
export const writeConversationList = (
  out: Output,
  conversations: readonly ConversationInfo[],
  needed: ReadonlySet<string>,
  short: ReadonlyMap<string, string>,
): Promise<void> => {
  const trees = treesOf(conversations)
  const { above = [], below = [] } = Object.groupBy(trees, (tree) =>
    tree.some(({ info }) => needed.has(info.id)) ? 'above' : 'below',
  )
  const leaves = [...above, ...below].flat()
  const columns = fitted(
    out.columns,
    columnsOf(short).map((column) => ({ ...column, cells: leaves.map(column.textOf) })),
  )
  return writeTable(
    out,
    columns.map(({ heading }) => heading),
    leaves.map((_, row) => columns.map(({ cells }) => cells[row] ?? '')),
    columns.flatMap(({ isNumber }, index) => (isNumber ? [index] : [])),
    'last is prose',
  )
}

interface Column {
  readonly heading: string
  readonly isNumber?: true
  readonly textOf: (leaf: Leaf) => string
}

const nothing = '–'
const columnsOf = (short: ReadonlyMap<string, string>): readonly Column[] => [
  { heading: 'status', textOf: ({ info: { status } }) => status?.replace('-', ' ') ?? '' },
  {
    heading: 'conversation',
    textOf: ({ info: { id }, depth }) => '  '.repeat(depth) + (short.get(id) ?? id),
  },
  { heading: 'events', isNumber: true, textOf: ({ info: { events } }) => compact(events) },
  {
    heading: 'tokens',
    isNumber: true,
    textOf: ({ info: { tokens, isMeasured } }) =>
      tokens === undefined ? nothing : `${isMeasured || tokens === 0 ? '' : '~'}${compact(tokens)}`,
  },
  {
    heading: 'cost, $',
    isNumber: true,
    textOf: ({ info: { cost, isCostPartial } }) =>
      cost === undefined ? nothing : `${isCostPartial ? '≥ ' : ''}${usdText(cost, 2)}`,
  },
  {
    heading: 'errors',
    isNumber: true,
    textOf: ({ info: { errors } }) => (errors ? compact(errors) : nothing),
  },
  {
    heading: 'model',
    textOf: ({ info: { model = nothing } }) => model.replace(/^claude-/, '').replace(/-20\d{6}$/, ''),
  },
  { heading: 'last activity', textOf: ({ info: { updated } }) => recentText(updated) },
  { heading: 'title', textOf: ({ info }) => whatWaits(info) + (titleOf(info) || 'no text yet') },
]

/** Columns that a narrow terminal lacks, the least important first, after those in which no row has anything. */
const spare = ['model', 'events', 'cost, $', 'errors', 'tokens', 'last activity']
/** Number of terminal columns that a title gets before a column is left out. */
const leastTitle = 24

/** Returns the columns for which a terminal has room beside a title. */
const fitted = <C extends Column & { readonly cells: readonly string[] }>(
  width: number,
  columns: readonly C[],
): readonly C[] => {
  const widths = new Map(
    columns.map((column) => [
      column,
      column.cells.reduce((most, cell) => Math.max(most, widthOf(cell)), column.heading.length),
    ]),
  )
  const isEmpty = ({ heading, cells }: C): boolean =>
    spare.includes(heading) && cells.every((cell) => cell === nothing)
  let shown = columns
  for (const heading of [...columns.filter(isEmpty).map((column) => column.heading), ...spare]) {
    const needed = shown.slice(0, -1).reduce((sum, column) => sum + (widths.get(column) ?? 0) + 2, 0)
    const title = Math.min(leastTitle, widths.get(shown.at(-1) as C) ?? 0)
    if (needed + title <= width) break
    shown = shown.filter((column) => column.heading !== heading)
  }
  return shown
}

/** Returns the title of a conversation, or why it cannot be read. */
const titleOf = ({ title, problem, isKeyMissing }: ConversationInfo): string =>
  isKeyMissing ? 'key missing' : (problem ?? title)

/** Says which tools wait for an approval. */
const whatWaits = ({ status, waitsFor: [first, ...others] = [] }: ConversationInfo): string =>
  status !== 'needs-approval' || first === undefined
    ? ''
    : `${first}${others.length > 0 ? ` and ${others.length} more` : ''} waits: `

/** Arranges conversations as trees: each one is listed under its parent if the parent is listed, too. */
const treesOf = (conversations: readonly ConversationInfo[]): readonly (readonly Leaf[])[] => {
  const ids = new Set(conversations.map(({ id }) => id))
  const isUnder = ({ id, parent }: ConversationInfo): boolean =>
    parent !== undefined && parent !== id && ids.has(parent)
  const children = Map.groupBy(conversations.filter(isUnder), ({ parent }) => parent)
  const shown = new Set<string>()
  const trees: Leaf[][] = []
  // Links may form cycles, to which no root leads. So all conversations are tried as roots after the real ones.
  for (const root of [...conversations.filter((one) => !isUnder(one)), ...conversations]) {
    const tree: Leaf[] = []
    const open: Leaf[] = [{ info: root, depth: 0 }]
    for (let leaf = open.pop(); leaf; leaf = open.pop()) {
      const { info, depth } = leaf
      if (shown.has(info.id)) continue
      shown.add(info.id)
      tree.push(leaf)
      const below = children.get(info.id) ?? []
      open.push(...below.map((child): Leaf => ({ info: child, depth: depth + 1 })).toReversed())
    }
    if (tree.length > 0) trees.push(tree)
  }
  return trees
}
