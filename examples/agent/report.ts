import { shellWord } from '../../src/cli/text.ts'
import type { ReceiptVerification } from '../../src/index.ts'
import type { Played, Tally } from './play.ts'

// What the demo prints, in 80 columns.

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.floor((100 * part) / whole)} %`
const thousands = (count: number): string => `${(count / 1_000).toFixed(1)}k`
const number = (count: number): string => count.toLocaleString('en')

export const plural = (count: number, noun: string): string =>
  `${number(count)} ${noun}${count === 1 ? '' : 's'}`

const toolsWidth = 34
const row = (turn: string, tools: string, context: string, cached: string, what: string): string =>
  `${turn.padStart(4)}  ${tools.padEnd(toolsWidth)}${context.padStart(12)}${cached.padStart(8)}  ${what}`.trimEnd()

export const headLine = row('turn', 'tools', 'context', 'cached', '')

/** @param allowed how many tokens a context may have */
export const turnLine = (played: Played, allowed: number): string => {
  const { turn, tools, failed, context, input, cached, condensed, truncated } = played
  const short = [
    ...runsOf(tools.map((name) => name.split('_')[0] ?? name)),
    ...(failed > 0 ? [`(${failed} ✗)`] : []),
  ]
  const happened = [...(condensed > 0 ? ['condensed'] : []), ...(truncated > 0 ? ['truncated'] : [])]
  const used = `${thousands(context)}/${thousands(allowed)}`
  return row(String(turn), cut(short.join(' ')), used, percent(cached, input), happened.join(', '))
}

/** `['read', 'read', 'edit']` as `['2 read', 'edit']`. */
const runsOf = (names: readonly string[]): readonly string[] => {
  const starts = names.flatMap((name, index) => (name === names[index - 1] ? [] : [index]))
  return starts.map((start, index) => {
    const count = (starts[index + 1] ?? names.length) - start
    return count > 1 ? `${count} ${names[start]}` : `${names[start]}`
  })
}

const cut = (text: string): string =>
  text.length <= toolsWidth ? text : `${text.slice(0, toolsWidth - 1).trimEnd()}…`

export interface Outcome {
  readonly all: Tally
  readonly seconds: number
  /** What the API said to the requests that it refused. */
  readonly refused: readonly string[]
  readonly receipts: ReceiptVerification
}

export const isGood = ({ refused, receipts }: Outcome): boolean =>
  refused.length === 0 && receipts.findings.length === 0

export const outcomeLines = ({ all, seconds, refused, receipts }: Outcome): readonly string[] => [
  line('calls', `${number(all.calls)} of the model, in ${seconds.toFixed(1)} s`),
  line('tools', `${plural(all.tools.length, 'call')}, of which ${number(all.failed)} failed`),
  line('condensed', plural(all.condensed, 'time')),
  line('truncated', `${plural(all.truncated, 'time')}, where no summary could be had`),
  line('cache', `${percent(all.cached, all.input)} of ${number(all.input)} input tokens were read from it`),
  line('refused', refused.length === 0 ? 'none of the requests' : `${number(refused.length)} REQUESTS`),
  ...refused.map((message) => line('', message)),
  line('receipts', receiptsText(receipts)),
  ...receipts.findings.map(({ call, message }) => line('', `call ${call}: ${message}`)),
]

const line = (name: string, text: string): string => `${name.padEnd(11)}${text}`

const receiptsText = ({ receipts, findings }: ReceiptVerification): string =>
  findings.length === 0
    ? `${number(receipts)} of ${number(receipts)} requests rebuilt from the log, byte for byte`
    : `${number(findings.length)} REQUESTS ARE NOT AS SENT`

/** Where to look afterwards. What is in memory only cannot be looked at any more. */
export const nextLines = (store: string, id: string, project: string, call: number): readonly string[] => {
  const files = `Its files are in ${project}.`
  if (store === 'memory:') return [files]
  const commands = [
    [`log ${id} --all`, 'every event, condensed or not'],
    [`request ${id} --call ${call}`, 'what the model was sent then'],
    [`verify ${id} --receipts`, 'every request, rebuilt'],
  ] as const
  return [
    `${files} What happened:`,
    '',
    `  export PALIMPSEST_STORE=${shellWord(store)}`,
    ...commands.map(([command, comment]) => `  npx palimpsest ${command.padEnd(26)}# ${comment}`),
  ]
}
