import type { Command } from 'commander'
import type { CacheBreak, CacheReport } from '../../investigate/index.ts'
import { limitHeapGrowth } from '../bounded-heap.ts'
import { pricesIn } from '../options.ts'
import type { Shell } from '../shell.ts'
import { compact, plural } from '../text.ts'
import { durationText, usdText } from '../views/money.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly prices?: string
}

export const addCache = (program: Command, shell: Shell): void => {
  program
    .command('cache <id>')
    .description('find what broke the prompt cache, and estimate the cost of resuming')
    .option('--prices <file>', 'JSON file with prices of models, which add to or replace the list prices')
    .addHelpText(
      'after',
      `
Lists the calls that could not read what the previous call had cached: position
of the reply, its call (p and the position if it has no number), tokens lost,
tokens that were charged in full again (estimated), their cost in US dollars,
the cause, position of the event, and the first block that differs. Advice, and
what the next call would cost, are printed on standard error.

Examples:
  palimpsest cache task-42
  palimpsest cache task-42 --json`,
    )
    .action(
      shell.look(async ({ store, out, isJson, host }, id: string, { prices: file }: Options) => {
        limitHeapGrowth()
        const { cache } = await import('../../investigate/index.ts')
        const report = await cache(store.conversation(id), { prices: await pricesIn(file) })
        if (isJson) return out.json(report)
        await writeTable(
          out,
          ['position', 'call', 'lost', 'again', 'usd', 'what', 'event', 'block'],
          report.breaks.map((each) => rowOf(each, out.isTerminal ? compact : String)),
          [0, 1, 2, 3, 4, 6],
        )
        for (const line of remarksOn(report)) host.stderr.write(`${line}\n`)
      }),
    )
}

const rowOf = (
  { position, call, lost, again, usd, kind, also, event, path }: CacheBreak,
  number: (tokens: number) => string,
): readonly string[] => [
  String(position),
  // The name that request --call and why --call accept; replies without a receipt, such as imported ones, have no number.
  String(call ?? `p${position}`),
  number(lost),
  number(again),
  usd === undefined ? '' : usdText(usd),
  also === undefined ? kind : `${kind} (and ${also})`,
  String(event ?? ''),
  path ?? '',
]

const remarksOn = ({
  calls,
  uncounted,
  inherited,
  input,
  read,
  resuming,
  advice,
}: CacheReport): readonly string[] => {
  const share = input > 0 ? Math.round((100 * read) / input) : 0
  return [
    `${plural(calls, 'call')}: ${share} % of ${plural(input, 'input token')} read from the cache`,
    ...(uncounted > 0
      ? [`${plural(uncounted, 'call')} without recorded usage: their cache reads are unknown`]
      : []),
    ...(inherited > 0
      ? [`${plural(inherited, 'inherited call')}: see the conversation that was forked`]
      : []),
    ...advice.map((line) => `advice: ${line}`),
    ...(resuming ? [resumingText(resuming)] : []),
  ]
}

const resumingText = ({
  tokens,
  idle,
  isWarm,
  usd,
  usdCold,
  change,
  event,
  cached,
}: NonNullable<CacheReport['resuming']>): string => {
  const why = change
    ? `${change}${event === undefined ? '' : ` at ${event}`} broke the cache`
    : isWarm
      ? `about ${cached} of them still cached`
      : `the last reply was ${durationText(idle)} ago, so the cache has expired`
  const cost =
    usd === undefined
      ? 'no price'
      : `${usdText(usd)} USD${isWarm ? `, ${usdText(usdCold ?? usd)} later` : ''}`
  return `resuming now: about ${plural(tokens, 'token')}, ${why}: ${cost} for the input`
}
