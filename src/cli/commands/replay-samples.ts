import { isBlock } from '../../events/blocks.ts'
import type { Counterfactual, Sample, SamplePlan } from '../../investigate/index.ts'
import { toError } from '../../result/typed-error.ts'
import { confirm } from '../confirm.ts'
import { usage } from '../errors.ts'
import type { Host } from '../host.ts'
import { pricesIn } from '../options.ts'
import type { CommandSession } from '../shell.ts'
import { plural, tokensText } from '../text.ts'
import { usdText } from '../views/money.ts'
import { writeTable } from '../views/table.ts'
import { loadAgent } from '../work/agent.ts'

interface Asked {
  readonly agent: string
  readonly call: number
  readonly samples?: number
  readonly free?: true
  readonly runTools?: true
  readonly yes?: true
  readonly prices?: string
}

/** Repeats a model call of a conversation and prints the new replies. */
export const printCounterfactual = async (
  { store, out, isJson, host }: CommandSession,
  id: string,
  { agent, call, samples, free, runTools, yes, prices: file }: Asked,
): Promise<void> => {
  const { turn } = await loadAgent(agent)
  const { counterfactual } = await import('../../investigate/index.ts')
  const found = await counterfactual(store.conversation(id), {
    agent: turn,
    call,
    samples,
    free,
    runTools,
    prices: await pricesIn(file),
    confirm: (plan) => mayBeSent(host, plan, yes === true),
  })
  if (found.samples.length === 0) return
  if (isJson) return out.json(found)
  await writeTable(out, headings, found.samples.map(rowOf), [5, 6, 7], 'last is prose')
  for (const line of sums(found)) host.stderr.write(`${line}\n`)
}

/** Prints the plan and asks for confirmation. `--yes` skips the question, and is required if standard input is not a terminal. */
const mayBeSent = async (host: Host, plan: SamplePlan, isYes: boolean): Promise<boolean> => {
  const { stdin, stderr } = host
  stderr.write(`${planText(plan)}\n`)
  if (isYes) return true
  if (!stdin.isTTY) throw toError(usage('nothing was sent: give --yes'))
  return confirm(host, 'Send?')
}

const planText = ({ requests, isFree, tokens, output, usd }: SamplePlan): string => {
  const cost = usd === undefined ? 'no price' : `${usdText(usd)} USD at most`
  const least = isFree ? 'at least ' : ''
  return `to send: ${least}${plural(requests, 'request')}, about ${tokensText(tokens)} of input and ${tokensText(output)} of output, ${cost}${isFree ? ' for the first reply' : ''}`
}

const headings = ['kind', 'fork', 'request', 'calls', 'ended', 'input', 'output', 'usd', 'said']

const rowOf = (sample: Sample): readonly string[] => {
  const { kind, conversation, isSameRequest, isSameCalls, ended, spent } = sample
  return [
    kind,
    conversation,
    isSameRequest ? 'same' : 'other',
    isSameCalls ? 'same' : 'other',
    ended,
    String(spent.input + spent.cacheRead + spent.cacheWrite),
    String(spent.output),
    spent.unpriced > 0 ? '' : usdText(spent.usd),
    saidIn(sample),
  ]
}

const saidIn = ({ content, waiting }: Sample): string => {
  const said = content.flatMap((block) => {
    if (isBlock(block, 'text')) return [block.text.replaceAll(/\s+/g, ' ').slice(0, 100).toWellFormed()]
    return isBlock(block, 'tool_use') ? [`${block.name}()`] : []
  })
  const stopped = waiting.map(({ tool, input }) => `stopped at ${tool} ${JSON.stringify(input)}`)
  return [...said, ...stopped].join(', ')
}

const sums = ({ samples }: Counterfactual): readonly string[] =>
  [...Map.groupBy(samples, ({ kind }) => kind)].map(([kind, all]) => {
    const same = all.filter(({ isSameCalls }) => isSameCalls).length
    return `${kind}: ${same} of ${all.length} make the recorded calls`
  })
