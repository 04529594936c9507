import { type Command, Option } from 'commander'
import type { Cost, UsageTotals, ToolUsage } from '../../investigate/index.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { toError } from '../../result/typed-error.ts'
import { limitHeapGrowth } from '../bounded-heap.ts'
import { usage } from '../errors.ts'
import { pricesIn } from '../options.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { plural } from '../text.ts'
import { usdText } from '../views/money.ts'
import { writeTable } from '../views/table.ts'

type By = 'conversation' | 'model' | 'day' | 'tool'
interface Options {
  readonly all?: boolean
  readonly by: By
  readonly prices?: string
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
    .addHelpText(
      'after',
      `
Without an id, every conversation in the store.

Counts every call of a model that has an answer, on every branch, once: the
calls of a fork's parent count for the parent. The cost of a reply that calls
several tools is divided among them. "≥" before an amount means that a price or
usage is missing, or that fewer output tokens were recorded than the reply has.
Standard error lists what is missing, with "not counted: …" for conversations
that cannot be read.

In a pipe, each line is name, calls (of a tool: how often it was called),
input, cache reads, cache writes, output, US dollars, and of a conversation the
dollars with its subagents, separated by tabs. The last line is the total.

Examples:
  palimpsest cost task-42
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
  { by, prices: file }: Options,
): Promise<void> => {
  limitHeapGrowth()
  const { cost } = await import('../../investigate/index.ts')
  const found = await cost(store, { conversation, prices: await pricesIn(file) })
  if (isJson) return out.json(found)
  await writeTable(
    out,
    [by, ...headings, ...(by === 'conversation' ? ['in all'] : [])],
    rowsOf(found, by),
    [1, 2, 3, 4, 5, 6, 7],
  )
  for (const line of missingIn(found)) host.stderr.write(`${visible(line)}\n`)
}

const headings = ['calls', 'input', 'read', 'written', 'output', 'usd']

const rowsOf = (found: Cost, by: By): readonly (readonly string[])[] => {
  const { conversations, models, days, tools, total } = found
  const last = rowOf('total', total)
  switch (by) {
    case 'conversation':
      return [
        ...conversations.map(({ id, own, total: whole }) => [...rowOf(id, own), amountOf(whole)]),
        [...last, amountOf(total)],
      ]
    case 'model':
      return [...models.map(({ model, ...spent }) => rowOf(model ?? '(not recorded)', spent)), last]
    case 'day':
      return [...days.map(({ day, ...spent }) => rowOf(day, spent)), last]
    case 'tool':
      return [...tools.map(({ tool, ...share }) => toolRow(tool ?? '(no tool)', share)), last]
  }
}

const rowOf = (name: string, spent: UsageTotals): readonly string[] => [
  name,
  ...[spent.calls, spent.input, spent.cacheRead, spent.cacheWrite, spent.output].map(String),
  amountOf(spent),
]

const toolRow = (
  name: string,
  { uses, input, cacheRead, cacheWrite, output, usd }: ToolUsage,
): readonly string[] => [name, ...[uses, input, cacheRead, cacheWrite, output].map(String), usdText(usd)]

const amountOf = ({ usd, unpriced, uncounted, understated }: UsageTotals): string =>
  `${unpriced + uncounted + understated > 0 ? '≥ ' : ''}${usdText(usd)}`

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
  const repeated = conversations.reduce((sum, each) => sum + each.repeated, 0)
  return [
    ...(unpriced > 0
      ? [`${plural(unpriced, 'call')} without a price (${nameless}): give one with --prices`]
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
    ...(inherited > 0
      ? [`${plural(inherited, 'inherited call')}: counted for the conversation that was forked`]
      : []),
    ...(repeated > 0 ? [`${plural(repeated, 'repeated call')}: counted where they first occurred`] : []),
    ...problems.map(({ id, problem }) => `not counted: ${id}: ${problem}`),
  ]
}
