import type * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { InvalidInput } from '../../events/errors.ts'
import type { BlockInput } from '../../events/block-types.ts'
import type { Configuration } from '../../events/events.ts'
import type { ContextSettings } from '../context/policy/settings.ts'
import type { Summarizer, SummarizerSettings } from '../context/summary/summarizer.ts'
import { isClient, noClient } from '../context/tokens/count.ts'
import type { AnthropicClient } from '../models/anthropic/model.ts'
import type { Model, ReplyEvent } from '../models/model.ts'
import type { Budget, PriceMissing } from './spending/budget.ts'
import type { SecretMissing } from './errors.ts'
import { type Prices, pricesSchema } from './spending/prices.ts'
import type { Emit } from './stream/turn-event.ts'
import type { WaitOptions } from './calls/calls.ts'
import type { StepOptions, StepSettings } from './turn-step.ts'
import type { TurnWatch } from './say/watch.ts'
import { milliseconds, settingsShape, type Tools } from '../tools/settings.ts'

/** Some of the settings: the others, and those that are undefined, have their defaults. */
export type SomeOf<Settings> = { readonly [K in keyof Settings]?: Settings[K] | undefined }

/** The options of a turn. */
export interface TurnOptions extends StepOptions {
  /** A client of `@anthropic-ai/sdk`, or any other `Model`. */
  readonly client: AnthropicClient | Model
  readonly model: string
  /** Default: what is configured. A difference from that is recorded (`Configured`) before the model is called. */
  readonly system?: string | readonly BlockInput[] | undefined
  /** Tools (`tool`, `mcpTools`, `resultReader`), and definitions as the API takes them. Default: what is configured. */
  readonly tools?: readonly object[] | undefined
  /** The functions that run those that are only defined, by name. */
  readonly run?: Tools | undefined
  /**
   * Other fields of the request's body: `max_tokens` (default: `context.maxOutput`, else 8,192), `thinking`, … Secrets in them, such as
   * `mcp_servers[].authorization_token`, are sent but not recorded.
   */
  readonly parameters?: { readonly [name: string]: unknown } | undefined
  /** How large the context may grow, and what to do then. Default: a window of 200,000 tokens. */
  readonly context?: SomeOf<ContextSettings> | undefined
  /** Writes summaries: settings for the built-in one (default: the same model), your own function, or false to truncate only. */
  readonly summarizer?: Summarizer | SomeOf<SummarizerSettings> | false | undefined
  /** How long the cache breakpoints live; false sets no breakpoints. Default `5m`. */
  readonly cache?: '5m' | '1h' | false | undefined
  /** The model accepts messages of role `system` between the others. Default false. */
  readonly systemMessages?: boolean | undefined
  /** Milliseconds that one call of a tool may take. Default 120,000. */
  readonly toolTimeout?: number | undefined
  /**
   * A tool result of up to this many bytes is shown to the model whole. Of a larger one it sees the beginning, the end, and a note on what
   * is left out; all of it is recorded (`resultReader`). Default: half a byte for each token of the window.
   */
  readonly maxResult?: number | undefined
  /** Milliseconds without any sign of the reply, pings included, after which its call has stalled (`ModelStalled`). Default 60,000. */
  readonly stallTimeout?: number | undefined
  /**
   * How often to repeat a call that stalled, broke off, or met an overloaded API, a rate limit or a broken connection, after the time that
   * the API asks for. Default 3. The client's own retries are off.
   */
  readonly maxRetries?: number | undefined
  /** The most calls of the model, repeated ones not counted. Default 100. */
  readonly maxCalls?: number | undefined
  /** What the turn may come to (`BudgetSpent`). Default: no limit. */
  readonly budget?: Budget | undefined
  /** Prices of models that the table of this version does not have, or to use instead. */
  readonly prices?: Prices | undefined
  /** Ends the turn; what is complete is recorded. */
  readonly signal?: AbortSignal | undefined
  /** If a reply broke off for good, keep its completed blocks and the beginning of a text. Default false. */
  readonly keepPartial?: boolean | undefined
  /** How calls wait for an approval, or for results from outside. */
  readonly waiting?: WaitOptions | undefined
  /**
   * What to do while somebody else, a worker or another program, gives the conversation a turn.
   * - `wait`: wait until that turn has ended, or its process has died; then continue, or return what came of it.
   * - `fail`: write nothing (`TurnHeld`).
   * - `take`: take the conversation over. The other turn is aborted, and calls that it has started count as interrupted.
   *
   * Default `wait`.
   */
  readonly whileHeld?: 'wait' | 'fail' | 'take' | undefined
  /** Milliseconds of silence after which whoever gives turns is taken for dead. The same for all, workers too. Default 10,000. */
  readonly ttl?: number | undefined
  /** Keep a reply that came too late (`StaleContext`) on an abandoned branch. Default false. */
  readonly keepLate?: boolean | undefined
  /** Called with each event of a reply's stream as it comes, and with the progress of tools: `{ type: 'tool_progress', id, name, text }`. */
  readonly onEvent?: ((event: ReplyEvent) => void) | undefined
}

/** What is wrong with options. */
export type SettleError = InvalidInput | SecretMissing | PriceMissing

/** Options with every default filled in. */
export interface ResolvedTurnOptions extends Omit<TurnOptions, 'client' | 'summarizer'> {
  readonly client: Model
  readonly summarizer: Summarizer | undefined
  readonly context: ContextSettings
  /** The configuration that has to be in force. */
  readonly wanted: Configuration
  /** The secrets that the references in it stand for. */
  readonly secrets: ReadonlyMap<string, string>
  readonly run: Tools
  readonly toolTimeout: number
  readonly maxResult: number
  readonly maxCalls: number
  readonly budget: Budget
  readonly prices: Prices
  readonly whileHeld: 'wait' | 'fail' | 'take'
  readonly ttl: number
  /** Is told what happens. */
  readonly emit: Emit
  /** The same with other settings, for one call of the model. */
  readonly withStep: (given: StepSettings) => E.Either<SettleError, ResolvedTurnOptions>
}

/** Options of a turn that is being given. */
export interface WatchedTurnOptions extends ResolvedTurnOptions {
  readonly watch: TurnWatch
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
const fields = z.record(z.string(), z.unknown())
const tool = z.union([
  z.custom(isFunction),
  z.strictObject({ ...settingsShape, check: z.custom(isFunction).optional() }),
])
/** Fields of a request that options of their own set; they are in the log and in receipts. */
const reserved = ['model', 'system', 'tools', 'messages', 'stream']

const more = z.number().positive()

/** The fields are checked with the other options. */
export const stepSchema = z.strictObject({
  model: z.unknown().optional(),
  system: z.unknown().optional(),
  tools: z.unknown().optional(),
  run: z.unknown().optional(),
  parameters: z.unknown().optional(),
})

/** What a budget may say. */
export const budgetShape = {
  calls: z.int().min(1).optional(),
  tokens: more.optional(),
  usd: more.optional(),
}

export const optionsSchema = z.strictObject({
  client: z.custom(isClient, { error: noClient }),
  model: z.string().min(1, { error: 'name a model' }),
  system: z.union([z.string(), z.array(fields)], { error: 'is a text, or an array of blocks' }).optional(),
  tools: z.array(fields).optional(),
  run: z.record(z.string(), tool).optional(),
  parameters: z
    .looseObject({ max_tokens: z.int().min(1).optional() })
    .superRefine((parameters, context) => {
      for (const name of reserved.filter((field) => field in parameters))
        context.addIssue({
          code: 'custom',
          path: [name],
          message:
            'is not a parameter: `model`, `system` and `tools` are options of their own; leave out the others',
        })
    })
    .optional(),
  context: fields.optional(),
  summarizer: z
    .union([z.literal(false), z.custom(isFunction), fields], {
      error: 'is the settings of a summarizer, a function, or false',
    })
    .optional(),
  cache: z.union([z.literal(false), z.enum(['5m', '1h'])], { error: 'is 5m, 1h or false' }).optional(),
  systemMessages: z.boolean().optional(),
  toolTimeout: milliseconds.optional(),
  stallTimeout: milliseconds.optional(),
  maxRetries: z.int().min(0).optional(),
  maxResult: z.int().min(1).optional(),
  maxCalls: z.int().min(1).optional(),
  budget: z.strictObject(budgetShape).optional(),
  prices: pricesSchema.optional(),
  stopWhen: z
    .union([z.array(z.string()), z.custom(isFunction)], {
      error: 'is names of tools, or a function of a step',
    })
    .optional(),
  prepareStep: z.custom(isFunction, { error: 'is not a function' }).optional(),
  onStep: z.custom(isFunction, { error: 'is not a function' }).optional(),
  signal: z.instanceof(AbortSignal, { error: 'is not an AbortSignal' }).optional(),
  keepPartial: z.boolean().optional(),
  waiting: z.strictObject({ expires: milliseconds.optional(), keep: z.boolean().optional() }).optional(),
  keepLate: z.boolean().optional(),
  whileHeld: z.enum(['wait', 'fail', 'take'], { error: 'is wait, fail or take' }).optional(),
  ttl: milliseconds.optional(),
  onEvent: z.custom(isFunction, { error: 'is not a function' }).optional(),
})
