import type * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { InvalidInput } from '../../events/errors.ts'
import type { BlockInput } from '../../events/block-types.ts'
import { type Configuration, type Workspace, workspaceSchema } from '../../events/events.ts'
import type { ContextSettings } from '../context/policy/settings.ts'
import type { Summarizer, SummarizerSettings } from '../context/summary/summarizer.ts'
import { isClient, noClient } from '../context/tokens/count.ts'
import type { AnthropicClient } from '../models/anthropic/model.ts'
import type { Model, ReplyEvent } from '../models/model.ts'
import type { Budget, PriceMissing } from './spending/budget.ts'
import type { SecretMissing } from './errors.ts'
import { type Prices, pricesSchema } from '../models/prices.ts'
import type { Emit } from './stream/turn-event.ts'
import type { NextStep, StopWhen, TurnStep } from './turn-step.ts'
import { milliseconds, settingsShape, type Tools } from '../tools/settings.ts'

/** Settings that may all be omitted or undefined; the defaults then apply. */
export type SomeOf<Settings> = { readonly [K in keyof Settings]?: Settings[K] | undefined }

/** Removes undefined fields, which must not override defaults. */
export const withoutUndefined = <T>(settings: T): Defined<T> =>
  (typeof settings === 'object' && settings !== null && !Array.isArray(settings)
    ? Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
    : settings) as Defined<T>
type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** Options of a turn. */
export interface TurnOptions {
  /** A client of `@anthropic-ai/sdk`, or any other `Model`. */
  readonly client: AnthropicClient | Model
  readonly model: string
  /** System prompt. Default: as configured. Another prompt is recorded (`Configured`) before the model is called. */
  readonly system?: string | readonly BlockInput[] | undefined
  /** Tools (`tool`, `mcpTools`, `resultReader`), or definitions in the API's form. Default: as configured. */
  readonly tools?: readonly object[] | undefined
  /** Functions for tools that are given only as definitions, by tool name. */
  readonly run?: Tools | undefined
  /**
   * Other fields of the request body: `max_tokens` (default: `context.maxOutput`, or 8,192 without it), `thinking`, … Secrets in them,
   * such as `mcp_servers[].authorization_token`, are sent but not recorded.
   */
  readonly parameters?: { readonly [name: string]: unknown } | undefined
  /** Limits on the size of the context, and settings for staying below them. Default: a window of 200,000 tokens. */
  readonly context?: SomeOf<ContextSettings> | undefined
  /** Settings of the built-in summarizer (default: with the turn's model), your own function, or false to truncate only. */
  readonly summarizer?: Summarizer | SomeOf<SummarizerSettings> | false | undefined
  /** Lifetime of the cache breakpoints; false sets none. Default `5m`. */
  readonly cache?: '5m' | '1h' | false | undefined
  /** True if the model accepts `system` messages between other messages. Default false. */
  readonly systemMessages?: boolean | undefined
  /** Time limit of a tool call, in milliseconds. Default 120,000. */
  readonly toolTimeout?: number | undefined
  /**
   * Maximum size, in bytes, of a tool result that is shown to the model in full. If a result is larger, the model sees its beginning,
   * its end, and a note on the omitted part, which `resultReader` can read; the full result is recorded. Default: half a byte per token
   * of the window.
   */
  readonly maxResult?: number | undefined
  /** Milliseconds without a stream event, even a ping, after which a model call counts as stalled (`ModelStalled`). Default 60,000. */
  readonly stallTimeout?: number | undefined
  /**
   * Maximum number of retries of a model call that stalled, broke off, or met an overloaded API, a rate limit or a connection error.
   * Each retry waits for the time that the API requests. Default 3. The client's own retries are disabled.
   */
  readonly maxRetries?: number | undefined
  /** Maximum number of model calls, not counting retries. Default 100. */
  readonly maxCalls?: number | undefined
  /** Limits on the turn's usage (`BudgetSpent`). Default: no limit. */
  readonly budget?: Budget | undefined
  /** Prices for models missing from the built-in table, or overriding it. */
  readonly prices?: Prices | undefined
  /** Condition that ends the turn after a step: the step calls one of these tools, or the function returns true for it. */
  readonly stopWhen?: StopWhen | undefined
  /** Called before each model call. The fields it returns override the turn's options of the same names for that call. */
  readonly prepareStep?:
    | ((next: NextStep) => StepSettings | undefined | Promise<StepSettings | undefined>)
    | undefined
  /** Called after each step, once all events of the step are recorded. */
  readonly onStep?: ((step: TurnStep) => void | Promise<void>) | undefined
  /** Signal that aborts the turn; complete content is recorded. */
  readonly signal?: AbortSignal | undefined
  /** True to record the complete blocks, and the begun text, of a reply that broke off and is not retried. Default false. */
  readonly keepPartial?: boolean | undefined
  /** Options for calls that wait for approval or for outside results. */
  readonly waiting?: WaitOptions | undefined
  /**
   * Behaviour while another worker or program is running a turn of the conversation.
   *
   * - `wait`: wait until that turn has ended, or its process has died; then continue, or return its result.
   * - `fail`: write nothing (`TurnHeld`).
   * - `take`: take the conversation over. The other turn is aborted, and calls that it has started count as interrupted.
   *
   * Default `wait`.
   */
  readonly whileHeld?: 'wait' | 'fail' | 'take' | undefined
  /** Milliseconds of silence after which a turn's holder counts as dead; the same everywhere, also in workers. Default 10,000. */
  readonly ttl?: number | undefined
  /**
   * State of the files, recorded with each reply and with the results of its calls: a value, or a function that is called before each of
   * these is recorded, such as `() => gitWorkspace('.')`. If the function fails or takes more than ten seconds, nothing is recorded.
   */
  readonly workspace?: Workspace | (() => Workspace | undefined | Promise<Workspace | undefined>) | undefined
  /** True to record a late reply (`StaleContext`) on an abandoned branch. Default false. */
  readonly keepLate?: boolean | undefined
  /** Called with each event of a reply's stream, and with the progress of tools: `{ type: 'tool-progress', call, tool, text }`. */
  readonly onEvent?: ((event: ReplyEvent) => void) | undefined
}

/** Settings that can override the turn's options for one model call. */
export type StepSettings = SomeOf<Pick<TurnOptions, 'model' | 'system' | 'tools' | 'run' | 'parameters'>>

/** Options for calls that wait for approval or for an outside result. */
export interface WaitOptions {
  /** Milliseconds after which an approval comes too late and the call is denied. Default: never. */
  readonly expires?: number | undefined
  /** True to keep calls waiting after a user message. Default false: such a message denies them. */
  readonly keep?: boolean | undefined
}

/** Errors caused by invalid options. */
export type SettleError = InvalidInput | SecretMissing | PriceMissing

type Defaulted = 'run' | 'toolTimeout' | 'maxResult' | 'maxCalls' | 'budget' | 'prices' | 'whileHeld' | 'ttl'

/** Turn options with all defaults filled in. */
export interface ResolvedTurnOptions
  extends
    Omit<TurnOptions, Defaulted | 'client' | 'summarizer'>,
    Defined<Required<Pick<TurnOptions, Defaulted>>> {
  readonly client: Model
  readonly summarizer: Summarizer | undefined
  readonly context: ContextSettings
  /** Configuration that must be in force before the model is called. */
  readonly wanted: Configuration
  /** Secrets of the parameters, by path. The recorded parameters contain references in their place. */
  readonly secrets: ReadonlyMap<string, string>
  readonly emit: Emit
  /** Returns the options for one model call, in which the given settings override these options. */
  readonly withStep: (given: StepSettings) => E.Either<SettleError, ResolvedTurnOptions>
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
const fields = z.record(z.string(), z.unknown())
const tool = z.union([
  z.custom(isFunction),
  z.strictObject({ ...settingsShape, check: z.custom(isFunction).optional() }),
])
/** Request fields that are not allowed in `parameters`: the turn sets them, and the log and the receipts contain them. */
const reserved = ['model', 'system', 'tools', 'messages', 'stream']

const more = z.number().positive()
const listener = z.custom(isFunction, { error: 'is not a function' }).optional()

/** Schema of a step's settings. The values of its fields are checked together with the turn's other options. */
export const stepSchema = z.strictObject({
  model: z.unknown().optional(),
  system: z.unknown().optional(),
  tools: z.unknown().optional(),
  run: z.unknown().optional(),
  parameters: z.unknown().optional(),
})

export const budgetShape = {
  calls: z.int().min(1).optional(),
  tokens: more.optional(),
  usd: more.optional(),
}

export const optionsSchema = z.strictObject({
  client: z.custom(isClient, { error: noClient }),
  model: z.string().min(1, { error: 'must be the name of a model' }),
  system: z
    .union([z.string(), z.array(fields)], { error: 'must be a string or an array of blocks' })
    .optional(),
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
            'is not a parameter: `model`, `system` and `tools` are separate options; remove the others',
        })
    })
    .optional(),
  context: fields.optional(),
  summarizer: z
    .union([z.literal(false), z.custom(isFunction), fields], {
      error: 'must be the settings of a summarizer, a function, or false',
    })
    .optional(),
  cache: z.union([z.literal(false), z.enum(['5m', '1h'])], { error: 'must be 5m, 1h or false' }).optional(),
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
      error: 'must be an array of tool names, or a function that takes a step',
    })
    .optional(),
  prepareStep: listener,
  onStep: listener,
  signal: z.instanceof(AbortSignal, { error: 'is not an AbortSignal' }).optional(),
  keepPartial: z.boolean().optional(),
  waiting: z.strictObject({ expires: milliseconds.optional(), keep: z.boolean().optional() }).optional(),
  keepLate: z.boolean().optional(),
  whileHeld: z.enum(['wait', 'fail', 'take'], { error: 'must be wait, fail or take' }).optional(),
  ttl: milliseconds.optional(),
  workspace: z
    .union([workspaceSchema, z.custom(isFunction)], {
      error:
        "must be { kind: 'git', commit }, with `dirty: true` if there are other changes, or a function that returns it",
    })
    .optional(),
  onEvent: listener,
})
