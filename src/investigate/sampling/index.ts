import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { Conversation } from '../../api/promises.ts'
import { check } from '../../events/check.ts'
import { invalidInput } from '../../events/errors.ts'
import type { Block } from '../../events/block-types.ts'
import { type Configuration, contentOf } from '../../events/events.ts'
import { configurationOf } from '../../projections/effective.ts'
import { callOutOfRange } from '../../agent/receipts/errors.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import { receiptOptionsIn } from '../../agent/receipts/receipt-options.ts'
import { orThrow } from '../../result/steps.ts'
import { toError } from '../../result/typed.ts'
import type { TurnOptions } from '../../agent/turn/options.ts'
import { prices as listPrices, type Prices, pricesSchema } from '../../agent/turn/spending/prices.ts'
import { canonicalText } from '../canonical.ts'
import { historiesOf } from '../histories.ts'
import { logOf } from '../log.ts'
import { callsInLog } from '../replies.ts'
import { waitsIn } from '../agent/recorded.ts'
import { agentSchema, type ReplayedAgent } from '../agent/replayed-agent.ts'
import { type StepAt, stepsOf } from '../agent/steps.ts'
import { planOf, type SamplePlan } from './plan.ts'
import { type Sample, sampled } from './samples.ts'
import { answersFrom, servedTools } from './served.ts'

/** What to ask a model once more. */
export interface CounterfactualOptions {
  /** With its `client`, which also sends the recorded request again. */
  readonly agent: ReplayedAgent
  /** The number of the call, from 1, as `chat.calls()` counts them. */
  readonly call: number
  /** How many samples of each kind. Default 3; of a free run 1. */
  readonly samples?: number | undefined
  /** Let the agent run on from that call, on recorded results where the inputs are equal. Default false. */
  readonly free?: boolean | undefined
  /** In a free run, run the agent's tools for calls that the log has no result for. Default false: the run stops there. */
  readonly runTools?: boolean | undefined
  /** Asked before anything is sent; false ends it. Default: yes. */
  readonly confirm?: ((plan: SamplePlan) => boolean | Promise<boolean>) | undefined
  /** As in a turn: prices of models that the table of this version does not have, or to use instead. */
  readonly prices?: Prices | undefined
}

/** What a model answers when it is asked once more. */
export interface Counterfactual {
  readonly conversation: string
  readonly call: number
  /** Position of the recorded reply, and its content. */
  readonly position: number
  readonly recorded: readonly Block[]
  readonly plan: SamplePlan
  /** The controls first. Empty if `confirm` has said no. */
  readonly samples: readonly Sample[]
}

const optionsSchema = z.strictObject({
  agent: agentSchema,
  call: z.int().min(1),
  samples: z.int().min(1).max(100).optional(),
  free: z.boolean().optional(),
  runTools: z.boolean().optional(),
  confirm: z.custom((value) => typeof value === 'function', { error: 'is a function' }).optional(),
  prices: pricesSchema.optional(),
})

/**
 * Asks a model again what it was asked in a recorded call: as an agent would ask it now, and, as a control, with the request that was
 * recorded: without that, chance looks like an effect. With `free`, the agent runs on from there. Each sample is a labelled fork; the
 * conversation itself stays as it is. docs/investigate.md.
 *
 * Rejects with `InvalidInput` (also of the agent's options, and for one without a client), `CallOutOfRange`, `ConversationNotFound` or another
 * `ForkError`. What goes wrong in a turn is in its sample.
 *
 * @example
 * import { counterfactual } from 'palimpsest/investigate'
 *
 * await chat.turn({ client, model: 'claude-opus-5-5' })
 * const agent = { client, model: 'claude-opus-5-5', system: 'You answer briefly.' }
 * const { samples } = await counterfactual(chat, { agent, call: 1, samples: 2 })
 * for (const { kind, conversation, content, isSameCalls } of samples) console.log(kind, conversation, content.length, isSameCalls)
 */
export const counterfactual = async (
  chat: Conversation,
  options: CounterfactualOptions,
): Promise<Counterfactual> => {
  await orThrow(check(optionsSchema, options))
  const { agent, free = false, runTools = false, confirm = () => true } = options
  const { samples = free ? 1 : 3 } = options
  const prices = { ...listPrices, ...options.prices }
  const log = await logOf(chat)
  const calls = callsInLog(log)
  const call = calls[options.call - 1]
  if (!call) throw toError(callOutOfRange(chat.id, options.call, calls.length))
  if (call.kind !== 'reply')
    throw toError(invalidInput('call', `${options.call} is that of a summary: name one with a reply`))
  const historyAt = historiesOf(log)
  const now = historyAt(call.receipt.position)
  const step = await stepsOf(chat, agent, { log, historyAt, waits: waitsIn([]) })(now.at)
  if (step.options.client === undefined)
    throw toError(invalidInput('client', 'is missing: the agent has to name the model that is asked'))
  const plan = planOf(now, call, step.settled, { samples, free, prices })
  const event = log[call.position]
  const recorded = event ? (contentOf(event)[0]?.content ?? []) : []
  const found = { conversation: chat.id, call: call.number, position: call.position, recorded, plan }
  if (!(await confirm(plan))) return { ...found, samples: [] }
  const sampling = { chat, call, recorded, prices }
  const all: Sample[] = []
  const times = Array.from({ length: samples }, (_, index) => index + 1)
  const control = free ? undefined : controlOptions(call, configurationOf(now), step)
  if (control) for (const number of times) all.push(await sampled(sampling, 'control', number, control))
  for (const number of times) {
    const given = free
      ? freeOptions(step, configurationOf(now), answersFrom(log, call.position), runTools)
      : onceOptions(step)
    all.push(await sampled(sampling, free ? 'free' : 'agent', number, given))
  }
  return { ...found, samples: all }
}

/** Options of one call: the tools are only defined, so that the turn ends with the reply. */
const onceOptions = ({ options, settled: { wanted } }: StepAt): TurnOptions => ({
  ...withClient(options),
  ...(wanted.tools && { tools: wanted.tools }),
  run: {},
  maxCalls: 1,
  stopWhen: undefined,
  prepareStep: undefined,
  onStep: undefined,
})

const freeOptions = (
  { options, settled: { wanted, run } }: StepAt,
  configured: Configuration,
  answers: ReturnType<typeof answersFrom>,
  isRun: boolean,
): TurnOptions => {
  const names = (wanted.tools ?? configured.tools ?? []).flatMap(({ name, type }) =>
    typeof name === 'string' && (type === undefined || type === 'custom') ? [name] : [],
  )
  return {
    ...withClient(options),
    ...(wanted.tools && { tools: wanted.tools }),
    run: servedTools(run, names, answers, isRun),
  }
}

const withClient = ({ client, ...options }: StepAt['options']): TurnOptions => ({
  ...options,
  client: client as TurnOptions['client'],
})

/** A window that nothing fills: a recorded request is sent as it is. */
const noLimit = 1_000_000_000

/** Options that send the recorded request. Secrets in its parameters are the agent's, if they are the same. */
const controlOptions = (
  { origin, receipt }: ModelCall,
  { model, parameters }: Configuration,
  { options, settled }: StepAt,
): TurnOptions => {
  const made = receiptOptionsIn(receipt)
  const { cache, systemMessages } = E.isRight(made) ? made.right : {}
  const isSame = canonicalText(parameters) === canonicalText(settled.wanted.parameters)
  return {
    client: options.client as TurnOptions['client'],
    model: model ?? origin.model ?? settled.wanted.model ?? '',
    parameters: (isSame ? options.parameters : undefined) ?? parameters,
    context: { window: noLimit, automatic: false },
    summarizer: false,
    cache: cache ?? false,
    ...(systemMessages && { systemMessages }),
    run: {},
    maxCalls: 1,
    ...(options.prices && { prices: options.prices }),
  }
}
