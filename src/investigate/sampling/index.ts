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
import { orThrow } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import type { TurnOptions } from '../../agent/turn/options.ts'
import { prices as listPrices, type Prices, pricesSchema } from '../../agent/models/prices.ts'
import { canonicalText } from '../canonical.ts'
import { historiesOf } from '../histories.ts'
import { logOf } from '../log.ts'
import { callsInLog } from '../replies.ts'
import { waitsIn } from '../agent/recorded-history.ts'
import { agentSchema, type ReplayedAgent } from '../agent/replayed-agent.ts'
import { type StepAt, stepsOf } from '../agent/steps.ts'
import { planOf, type SamplePlan } from './plan.ts'
import { type Sample, runSample } from './samples.ts'
import { answersFrom, toolsServing } from './tools-serving.ts'

/** Options for `counterfactual`. */
export interface CounterfactualOptions {
  /** Agent to sample. Its `client` is required and also sends the recorded request for the control samples. */
  readonly agent: ReplayedAgent
  /** Number of the call, from 1, as in `chat.calls()`. */
  readonly call: number
  /** Number of samples of each kind. Default 3, or 1 with `free`. */
  readonly samples?: number | undefined
  /** True to let the agent continue after the call, with recorded results for tool calls with the same input. Default false. */
  readonly free?: boolean | undefined
  /** True to run the agent's tools for calls without a recorded result in a free run. Default false: the run stops at such a call. */
  readonly runTools?: boolean | undefined
  /** Called before any request is sent; returns false to cancel. Default: send without asking. */
  readonly confirm?: ((plan: SamplePlan) => boolean | Promise<boolean>) | undefined
  /** Prices that extend or override the built-in table, as in the options of a turn. */
  readonly prices?: Prices | undefined
}

/** New answers of a model to a recorded call. */
export interface Counterfactual {
  readonly conversation: string
  readonly call: number
  /** Position and content of the recorded reply. */
  readonly position: number
  readonly recorded: readonly Block[]
  readonly plan: SamplePlan
  /** Samples, with the control samples first. Empty if `confirm` returned false. */
  readonly samples: readonly Sample[]
}

const optionsSchema = z.strictObject({
  agent: agentSchema,
  call: z.int().min(1),
  samples: z.int().min(1).max(100).optional(),
  free: z.boolean().optional(),
  runTools: z.boolean().optional(),
  confirm: z.custom((value) => typeof value === 'function', { error: 'must be a function' }).optional(),
  prices: pricesSchema.optional(),
})

/**
 * Repeats a recorded model call with the request that an agent would send now, and with the recorded request as a control. Without a
 * control, chance could look like an effect. With `free`, the agent continues from there, without a control. Each sample is a labelled
 * fork; the conversation itself is unchanged. docs/investigate.md.
 *
 * Rejects with `InvalidInput` (also for the agent's options, and for an agent without a client), `CallOutOfRange`,
 * `ConversationNotFound` or another `ForkError`. An error in a turn is part of its sample.
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
    throw toError(
      invalidInput('call', `${options.call} is the call of a summary: specify the call of a reply`),
    )
  const historyAt = historiesOf(log)
  const now = historyAt(call.receipt.position)
  const step = await stepsOf(chat, agent, { log, historyAt, waits: waitsIn([]) })(now.at)
  if (step.options.client === undefined)
    throw toError(invalidInput('client', 'is missing: the agent needs a client to call a model'))
  const plan = planOf(now, call, step.settled, { samples, free, prices })
  const event = log[call.position]
  const recorded = event ? (contentOf(event)[0]?.content ?? []) : []
  const found = { conversation: chat.id, call: call.number, position: call.position, recorded, plan }
  if (!(await confirm(plan))) return { ...found, samples: [] }
  const sampling = { chat, call, recorded, prices }
  const all: Sample[] = []
  const times = Array.from({ length: samples }, (_, index) => index + 1)
  const control = free ? undefined : controlOptions(call, configurationOf(now), step)
  if (control) for (const number of times) all.push(await runSample(sampling, 'control', number, control))
  for (const number of times) {
    const given = free
      ? freeOptions(step, configurationOf(now), answersFrom(log, call.position), runTools)
      : onceOptions(step)
    all.push(await runSample(sampling, free ? 'free' : 'agent', number, given))
  }
  return { ...found, samples: all }
}

/** Returns the turn options for a single call. Tools are defined but cannot run, so the turn ends with the reply. */
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
    run: toolsServing(run, names, answers, isRun),
  }
}

const withClient = ({ client, ...options }: StepAt['options']): TurnOptions => ({
  ...options,
  client: client as TurnOptions['client'],
})

/** Context window that is never full, so that a recorded request is sent unchanged. */
const noLimit = 1_000_000_000

/**
 * Returns the turn options that send the recorded request. If the agent's parameters equal the recorded ones, the agent's are used, so
 * that secrets in them are available.
 */
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
