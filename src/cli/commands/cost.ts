import { type Command, Option } from 'commander'
import type { Cost, UsageTotals } from '../../investigate/index.ts'
import type { Store } from '../../index.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { toError } from '../../result/typed-error.ts'
import { limitHeapGrowth } from '../bounded-heap.ts'
import { usage } from '../errors.ts'
import { pricesForm, pricesIn, several } from '../options.ts'
import type { Output } from '../output.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { shortIdsIn } from '../short-ids.ts'
import { compact, plural } from '../text.ts'
import { usdText } from '../views/money.ts'
import { writeTable } from '../views/table.ts'

type By = 'conversation' | 'model' | 'day' | 'tool'
interface Options {
  readonly all?: boolean
  readonly by: By
  readonly prices?: string
  readonly limit?: number
}

export const addCost = (program: Command, shell: Shell): void => {
  const looking = shell.look((session, id, options: Options) => print(session, id, options))
  const all = shell.action('existing', (session: CommandSession, options: Options) =>
    print(session, undefined, options),
  )
  program
    .command('cost [id]')
    .description('add up the tokens and cost of a conversation and its subagents, or of all')
    .addOption(new Option('--all', 'the former way to name no conversation').hideHelp())
    .addOption(
      new Option('--by <what>', 'a row for each of these')
        .choices(['conversation', 'model', 'day', 'tool'])
        .default('conversation'),
    )
    .option('--prices <file>', 'JSON file with prices of models, which add to or replace the list prices')
    .option('--limit <n>', 'print at most n rows; the total still counts everything', several)
    .addHelpText(
      'after',
      `
Without an id, every conversation in the store.

Counts every call of a model that has an answer, on every branch, once: the
calls of a fork's parent count for the parent. The cost of a reply that calls
several tools is divided among them. "≥" before an amount means that a price,
usage or subagent is missing, or that fewer output tokens were recorded than
the reply has. With --by tool, the calls of a row are those of the tool, while
those of the total are calls of models.
Standard error lists what is missing, with "not counted: …" for conversations
that cannot be read.

The most expensive rows come first, days in their order. A terminal shows
titles, and shortens ids and numbers. In a pipe, each line is name, calls (of a
tool: how often it was called), input, cache reads, cache writes, output, US
dollars, and of a conversation the dollars with its subagents, separated by
tabs. The last line is the total.

A file of prices has US dollars per million tokens, all five for each model:
  ${pricesForm.replace(' "cacheWrite5m', '\n    "cacheWrite5m')}

Examples:
  palimpsest cost task-42
  palimpsest cost --limit 10
  palimpsest cost --by model
  palimpsest cost --by day --prices prices.json`,
    )
    .action((id: string | undefined, options: Options) => {
      if (id !== undefined && options.all)
        throw toError(usage('name a conversation or give --all, not both: palimpsest cost ID'))
      return id === undefined ? all(options) : looking(id, options)
    })
}

const print = async (
  { store, out, isJson, host }: CommandSession,
  conversation: string | undefined,
  { by, prices: file, limit = Infinity }: Options,
): Promise<void> => {
  limitHeapGrowth()
  const { cost } = await import('../../investigate/index.ts')
  const found = await cost(store, { conversation, prices: await pricesIn(file) })
  if (isJson) return out.json(found)
  const table = tableOf(found, by, limit)
  await (out.isTerminal ? writeShort(out, store, table) : writeTable(out, [], table.rows.map(plainRow)))
  if (table.more > 0) await out.aside([`${plural(table.more, 'more row')}, included in the total`, 'dim'])
  for (const line of missingIn(found)) host.stderr.write(`${visible(line)}\n`)
}

interface Row {
  readonly name: string
  /** Calls, and tokens of input, cache reads, cache writes and output. */
  readonly counts: readonly number[]
  readonly usd: Amount
  /** The amount that includes the subagents. */
  readonly inAll?: Amount
}
type Amount = UsageTotals & { readonly isPartial?: boolean }

/** The rows of a table, without those beyond a limit; the last row is the total. */
interface CostTable {
  readonly by: By
  readonly rows: readonly Row[]
  /** Number of rows beyond the limit. */
  readonly more: number
}

const tableOf = (found: Cost, by: By, limit: number): CostTable => {
  const rows = rowsOf(found, by)
  const sorted =
    by === 'day' ? rows : rows.toSorted((a, b) => (b.inAll ?? b.usd).usd - (a.inAll ?? a.usd).usd)
  const sum = { ...found.total, isPartial: found.conversations.some(({ missing }) => missing.length > 0) }
  const total = rowOf('total', sum)
  const last = by === 'conversation' ? { ...total, inAll: sum } : total
  return { by, rows: [...sorted.slice(0, limit), last], more: Math.max(0, rows.length - limit) }
}

const rowsOf = ({ conversations, models, days, tools }: Cost, by: By): readonly Row[] => {
  switch (by) {
    case 'conversation':
      return conversations.map(({ id, own, total, missing }) => ({
        ...rowOf(id, own),
        inAll: { ...total, isPartial: missing.length > 0 },
      }))
    case 'model':
      return models.map(({ model, ...spent }) => rowOf(model ?? '(not recorded)', spent))
    case 'day':
      return days.map(({ day, ...spent }) => rowOf(day, spent))
    case 'tool':
      return tools.map(({ tool, uses, ...share }) => rowOf(tool ?? '(no tool)', { ...share, calls: uses }))
  }
}

const rowOf = (name: string, spent: Amount): Row => ({
  name,
  counts: [spent.calls, spent.input, spent.cacheRead, spent.cacheWrite, spent.output],
  usd: spent,
})

const plainRow = ({ name, counts, usd, inAll }: Row): readonly string[] => [
  name,
  ...counts.map(String),
  amountOf(usd),
  ...(inAll ? [amountOf(inAll)] : []),
]

const headings = ['calls', 'input', 'read', 'written', 'output', 'usd']

/** Writes the table for a terminal: with short ids and numbers, and with the titles of conversations. */
const writeShort = async (out: Output, store: Store, { by, rows }: CostTable): Promise<void> => {
  const ids = rows.slice(0, -1).map(({ name }) => name)
  const isTitled = by === 'conversation'
  const short = isTitled ? await shortIdsIn(store, ids) : new Map<string, string>()
  const titles = new Map<string, string>()
  if (isTitled) for await (const { id, title } of store.conversations({ ids })) titles.set(id, title)
  // The column would repeat the one before it if there are no subagents.
  const withAll = rows.some(({ usd, inAll }) => inAll && inAll.usd !== usd.usd)
  const decimals = (rows.at(-1)?.usd.usd ?? 0) < 1 ? 4 : 2
  await writeTable(
    out,
    [by, ...headings, ...(withAll ? ['in all'] : []), ...(isTitled ? ['title'] : [])],
    rows.map(({ name, counts, usd, inAll }, index) => [
      by === 'tool' && index === rows.length - 1 ? `${name}, of model calls` : (short.get(name) ?? name),
      ...counts.map(compact),
      amountOf(usd, decimals),
      ...(withAll && inAll ? [amountOf(inAll, decimals)] : []),
      ...(isTitled ? [titles.get(name) ?? ''] : []),
    ]),
    withAll ? [1, 2, 3, 4, 5, 6, 7] : [1, 2, 3, 4, 5, 6],
    isTitled ? 'last is prose' : undefined,
  )
}

const amountOf = ({ usd, unpriced, uncounted, understated, isPartial }: Amount, decimals?: number): string =>
  `${isPartial || unpriced + uncounted + understated > 0 ? '≥ ' : ''}${usdText(usd, decimals)}`

const ofModel = 'price of '

/** Describes the calls that the amounts omit or understate, one line for each reason. */
const missingIn = ({ total, problems, conversations }: Cost): readonly string[] => {
  const { uncounted, lacks } = total
  const { 'output tokens': cut = 0, ...others } = lacks
  const { names = [], terms = [] } = Object.groupBy(Object.entries(others), ([what]) =>
    what.startsWith(ofModel) ? 'names' : 'terms',
  )
  const unpriced = names.reduce((sum, [, calls]) => sum + calls, 0)
  const nameless = names.map(([what]) => what.slice(ofModel.length)).join(', ')
  const inherited = conversations.reduce((sum, each) => sum + each.inherited, 0)
  const missing = new Set(conversations.flatMap((each) => each.missing)).size
  const repeated = conversations.reduce((sum, each) => sum + each.repeated, 0)
  return [
    ...(unpriced > 0
      ? [
          `${plural(unpriced, 'call')} without a price (${nameless}): give one with --prices FILE, which has ${pricesForm.replace('MODEL', names[0]?.[0].slice(ofModel.length) ?? 'MODEL')}`,
        ]
      : []),
    ...terms.map(([what, calls]) => `${plural(calls, 'call')} with ${what}: the price is unknown`),
    ...(cut > 0
      ? [
          `${plural(cut, 'call')} with fewer output tokens recorded than the reply has: the true cost is higher`,
        ]
      : []),
    ...(uncounted > 0
      ? [`${plural(uncounted, 'call')} without recorded usage: not included in the sums`]
      : []),
    ...(missing > 0
      ? [
          `${plural(missing, 'subagent')} ${missing === 1 ? 'is' : 'are'} not in this store: not included in the sums`,
        ]
      : []),
    ...(inherited > 0
      ? [`${plural(inherited, 'inherited call')}: counted for the conversation that was forked`]
      : []),
    ...(repeated > 0 ? [`${plural(repeated, 'repeated call')}: counted where they first occurred`] : []),
    ...problems.map(({ id, problem }) => `not counted: ${id}: ${problem}`),
  ]
}
