import type { Command } from 'commander'
import { type Replayed, type ReplayedCall, type ReplayPolicy, replay } from '../../investigate/index.ts'
import { toError } from '../../result/typed.ts'
import { usage } from '../errors.ts'
import { exclusive, jsonFile, pricesIn, several } from '../options.ts'
import type { Shell } from '../shell.ts'
import { usdText } from '../views/money.ts'
import { writeTable } from '../views/table.ts'
import { printReplayedAgent } from './replay-agent.ts'

interface Options {
  readonly policy?: string
  readonly compare?: readonly string[]
  readonly prices?: string
  readonly agent?: string
  readonly from?: number
}

export const addReplay = (program: Command, shell: Shell): void => {
  program
    .command('replay <id>')
    .description('what another context policy, or an agent, would have sent, without a model')
    .addOption(exclusive('--policy <file>', 'JSON: the policy (default: the recorded one)', ['compare']))
    .option('--compare <files...>', 'one line for each of these policies, and for the recorded one')
    .addOption(
      exclusive('--agent <file>', 'a module as of work: where would this agent differ?', [
        'policy',
        'compare',
      ]),
    )
    .option('--from <call>', 'with --agent: the first call to look at', several)
    .option('--prices <file>', 'JSON: prices of models, added to the list prices or replacing them')
    .addHelpText(
      'after',
      `
A policy is { "name", "context": { "window", … } as of a turn, "mode":
"condense", "truncate" or "keep", "summaryTokens", "clearResults":
{ "keepLast" }, "cache": "5m" or "1h" }.
Answers stay the recorded ones. A summary that would have been written is a text
of that size; where the recorded policy wrote one for the same messages, it is
that one. Counts are the API's where a request is the same, else estimates.

Each line of a policy is a call: position of the reply, number, tokens, of these read from
the cache, US dollars, messages hidden, what was done before it, and what the
answer names although it would have been hidden.

With --agent, the agent is asked what it would do wherever the log says what a
turn has done: its configuration, its policy, its summarizer's requests, its
approvals, stopWhen and prepareStep, and each request to the byte. No model is
called and no tool is run: replies and results are the recorded ones. The first
difference is printed. Exit code 0: the same, 1: it differs, 2: not comparable.

Examples:
  palimpsest replay task-42 --policy small.json
  palimpsest replay task-42 --compare small.json truncate.json
  palimpsest replay task-42 --agent agent.ts`,
    )
    .action(
      shell.look(async (session, id: string, options: Options) => {
        const { store, out, isJson } = session
        const { agent, from } = options
        if (agent === undefined && from !== undefined) throw toError(usage('--from needs --agent'))
        if (agent !== undefined) return printReplayedAgent(session, id, agent, from)
        const chat = store.conversation(id)
        const prices = await pricesIn(options.prices)
        if (options.compare) {
          const all = [await replay(chat, { prices })]
          for (const file of options.compare)
            all.push(await replay(chat, { policy: await policyIn(file), prices }))
          return isJson
            ? out.json({ policies: all })
            : writeTable(out, comparing, all.map(totalRow), [1, 2, 3, 4, 5, 6, 7, 8])
        }
        const found = await replay(chat, { policy: await policyIn(options.policy), prices })
        return isJson ? out.json(found) : writeTable(out, calling, found.calls.map(rowOf), [0, 1, 2, 3, 4, 5])
      }),
    )
}

/** A policy, named after its file if it has no name; the library checks it. */
const policyIn = async (file: string | undefined): Promise<ReplayPolicy | undefined> => {
  if (file === undefined) return undefined
  const policy = await jsonFile(file)
  return (typeof policy === 'object' && policy !== null ? { name: file, ...policy } : policy) as ReplayPolicy
}

const calling = ['position', 'call', 'tokens', 'read', 'usd', 'hidden', 'written', 'needed but hidden']
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

const totalRow = ({ policy, total }: Replayed): readonly string[] => [
  policy,
  String(total.tokens),
  String(total.read),
  total.usd === undefined ? '' : usdText(total.usd),
  ...[total.condensed, total.truncated, total.edited, total.over, total.needed].map(String),
]
