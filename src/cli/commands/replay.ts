import type { Command } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import { invalidInput } from '../../events/errors.ts'
import { isFields } from '../../events/json.ts'
import type { ReplayReport, ReplayedCall, ReplayPolicy } from '../../investigate/index.ts'
import { toError } from '../../result/typed-error.ts'
import { limitHeapGrowth } from '../bounded-heap.ts'
import { usage } from '../errors.ts'
import type { Host } from '../host.ts'
import { exclusive, jsonFile, pricesIn, several } from '../options.ts'
import { type WriteFile, writerOf } from '../output-file.ts'
import type { Shell } from '../shell.ts'
import { plural } from '../text.ts'
import { usdText } from '../views/money.ts'
import { writeTable } from '../views/table.ts'
import { printReplayedAgent } from './replay-agent.ts'
import { printCounterfactual } from './replay-samples.ts'

interface Options {
  readonly policy?: string
  readonly compare?: readonly string[]
  readonly prices?: string
  readonly agent?: string
  readonly from?: number
  readonly call?: number
  readonly samples?: number
  readonly free?: true
  readonly runTools?: true
  readonly yes?: true
  readonly html?: string
}

export const addReplay = (program: Command, shell: Shell): void => {
  program
    .command('replay <id>')
    .description('show what another context policy or agent would have sent, without calling a model')
    .addOption(exclusive('--policy <file>', 'JSON: the policy (default: the recorded one)', ['compare']))
    .option('--compare <files...>', 'print one line for each of these policies and for the recorded one')
    .option('--html <file>', 'with --compare: write a page with the curves, overwriting an existing file')
    .addOption(
      exclusive('--agent <file>', 'module of an agent, as for work: show where it would differ', [
        'policy',
        'compare',
      ]),
    )
    .option('--from <call>', 'with --agent: the first call to look at', several)
    .option('--call <n>', 'with --agent: ask the model this call again, and compare', several)
    .option('--samples <k>', 'number of runs (default: 3; with --free: 1)', several)
    .option('--free', 'let the agent continue after the call, with recorded results')
    .option('--run-tools', 'with --free: run its tools where there is no recorded result')
    .option('--yes', 'send without asking')
    .option('--prices <file>', 'JSON file with prices of models, which add to or replace the list prices')
    .addHelpText(
      'after',
      `
A policy is { "name", "context": { "window", … } as of a turn, "mode":
"condense", "truncate" or "keep", "summaryTokens", "clearResults":
{ "keepLast" }, "cache": "5m" or "1h" }.
Answers stay as recorded. A summary that the policy would have written is
replaced by a text of summaryTokens, or by the recorded summary if there is one
of the same messages. Token counts are the API's for an unchanged request, and
estimates for any other.

Each line of a policy is a call: position of the reply, number, tokens, tokens
read from the cache, US dollars, messages hidden, what was done before it, and
the terms in the answer that would have been hidden.

With --agent, the agent's actions are compared with those that turns recorded:
its configuration, its policy, its summarizer's requests, its approvals,
stopWhen and prepareStep, and each request, byte for byte. No model is
called and no tool is run: replies and results are the recorded ones. The first
difference is printed. Exit code 0: the same, 1: it differs, 2: not comparable.

With --call, models are called, --samples times each, with the request that the
agent would send in that call and, as a control, with the recorded request. The
plan is printed first and must be confirmed; without a terminal, nothing is sent
unless --yes is given. Each sample is a fork, labelled "counterfactual"; each
line is its kind, the fork, whether the request and the tool calls match the
log, how it ended, input, output, US dollars, and what the model said. With
--free, the agent continues until its turn ends, or until it calls a tool for
which the log has no result.

Examples:
  palimpsest replay task-42 --policy small.json
  palimpsest replay task-42 --compare small.json truncate.json --html if.html
  palimpsest replay task-42 --agent agent.ts
  palimpsest replay task-42 --agent agent.ts --call 4 --samples 5`,
    )
    .action(
      shell.look(async (session, id: string, options: Options) => {
        const { store, out, isJson, host } = session
        const { agent, from, call } = options
        checkTogether(options)
        if (agent !== undefined && call !== undefined)
          return printCounterfactual(session, id, { ...options, agent, call })
        if (agent !== undefined) return printReplayedAgent(session, id, agent, from)
        limitHeapGrowth()
        const { replay } = await import('../../investigate/index.ts')
        const chat = store.conversation(id)
        const prices = await pricesIn(options.prices)
        if (options.compare) {
          const write = options.html === undefined ? undefined : await writerOf(session, 'html', options.html)
          const policies: (ReplayPolicy | undefined)[] = [undefined]
          for (const file of options.compare) policies.push(await policyIn(file))
          const all = []
          for (const policy of policies) all.push(await replay(chat, { policy, prices }))
          if (!isJson) tellKept(host, all[0]?.keptMarkers)
          if (write) await writePage(write, all)
          return isJson
            ? out.json({ policies: all })
            : writeTable(out, comparing, all.map(totalRow), [1, 2, 3, 4, 5, 6, 7, 8])
        }
        const found = await replay(chat, { policy: await policyIn(options.policy), prices })
        if (!isJson) tellKept(host, found.keptMarkers)
        return isJson ? out.json(found) : writeTable(out, calling, found.calls.map(rowOf), [0, 1, 2, 3, 4, 5])
      }),
    )
}

/** Says which markers every policy leaves in place. */
const tellKept = (host: Host, markers = 0): void => {
  if (markers > 0)
    host.stderr.write(
      `kept as recorded, under any policy: ${plural(markers, 'marker')} that no policy wrote (imported, or made by hand)\n`,
    )
}

/** Writes one HTML page with the curves of all reports. The page module is imported only when needed. */
const writePage = async (write: WriteFile, all: readonly ReplayReport[]): Promise<void> => {
  const { comparisonPage } = await import('../../server/html/comparison/page.ts')
  await write([comparisonPage(all)])
}

/** Throws a usage error if an option is given without another one that it needs, or if two options exclude each other. */
const checkTogether = (options: Options): void => {
  const needs: readonly (readonly [keyof Options, keyof Options])[] = [
    ['from', 'agent'],
    ['call', 'agent'],
    ['samples', 'call'],
    ['free', 'call'],
    ['yes', 'call'],
    ['runTools', 'free'],
    ['html', 'compare'],
  ]
  const named = (name: string): string =>
    `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  for (const [option, needed] of needs)
    if (options[option] !== undefined && options[needed] === undefined)
      throw toError(usage(`${named(option)} needs ${named(needed)}`))
  if (options.from !== undefined && options.call !== undefined)
    throw toError(usage('--from and --call exclude each other'))
}

/** Reads a policy from a JSON file. A policy without a name is named after the file. Errors name the file. */
const policyIn = async (file: string | undefined): Promise<ReplayPolicy | undefined> => {
  if (file === undefined) return undefined
  const { checkPolicy } = await import('../../investigate/replay-policy.ts')
  const policy = await jsonFile(file)
  const checked = checkPolicy(isFields(policy) ? { name: file, ...policy } : policy)
  if (E.isLeft(checked)) throw toError(invalidInput(file, checked.left.message))
  return checked.right
}

const calling = ['position', 'call', 'tokens', 'read', 'usd', 'hidden', 'written', 'referenced but hidden']
const comparing = ['policy', 'tokens', 'read', 'usd', 'condensed', 'truncated', 'edited', 'over', 'needed']

const rowOf = (call: ReplayedCall): readonly string[] => [
  String(call.position),
  String(call.call ?? ''),
  `${call.tokens}${call.isOver ? '!' : ''}`,
  String(call.read),
  call.usd === undefined ? '' : usdText(call.usd),
  String(call.hidden),
  (['condensed', 'truncated', 'edited'] as const)
    .flatMap((what) => (call[what] > 0 ? [`${call[what]} ${what}`] : []))
    .join(', '),
  call.needed.map(({ term }) => term).join(', '),
]

const totalRow = ({ policy, total }: ReplayReport): readonly string[] => [
  policy,
  String(total.tokens),
  String(total.read),
  total.usd === undefined ? '' : usdText(total.usd),
  ...[total.condensed, total.truncated, total.edited, total.over, total.needed].map(String),
]
