import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { Block } from '../events/blocks.ts'
import { check, checkJson } from '../events/check.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { copyJson } from '../events/json.ts'
import { type Configuration, dataSchemas } from '../events/events.ts'
import { referencesIn, secretsIn, withoutSecrets } from '../events/secrets.ts'
import { wellFormed } from '../projections/render/renderer.ts'
import type { AnthropicClient } from '../models/anthropic/model.ts'
import { isClient, modelOf, noClient } from '../context/tokens/count.ts'
import { secretMissing, type SecretMissing } from './errors.ts'
import type { Model, ReplyEvent } from '../models/model.ts'
import { type ContextSettings, limitsOf } from '../context/policy/settings.ts'
import { type Summarizer, summarizer, type SummarizerSettings } from '../context/summary/summarizer.ts'
import { summaryLimitsOf } from '../context/summary/settings.ts'
import type { Tools } from './tools.ts'

/** What a turn is done with. */
export interface TurnOptions {
  /** A client of `@anthropic-ai/sdk`, or any other `Model`. */
  readonly client: AnthropicClient | Model
  readonly model: string
  /** Default: what is configured. What differs from that is recorded (`Configured`) before the model is asked. */
  readonly system?: string | readonly Block[]
  /** The tools as the API takes them. Default: what is configured. */
  readonly tools?: Configuration['tools']
  /** What carries them out, by name. */
  readonly run?: Tools
  /**
   * Other fields of the request's body: `max_tokens` (default: `context.maxOutput`, else 8,192), `thinking`, … Secrets among them, such
   * as `mcp_servers[].authorization_token`, are sent and not recorded.
   */
  readonly parameters?: { readonly [name: string]: unknown }
  /** How large the context may grow, and what to do then. Default: a window of 200,000 tokens. */
  readonly context?: Partial<ContextSettings>
  /** Who writes summaries: settings of one (default: the same model), one of your own, or false: truncate only. */
  readonly summarizer?: Summarizer | Partial<SummarizerSettings> | false
  /** How long cache breakpoints live; false places none. Default `5m`. */
  readonly cache?: '5m' | '1h' | false
  /** The model takes messages of role `system` between the others. Default false. */
  readonly systemMessages?: boolean
  /** Milliseconds that a tool may take. Default 120,000. */
  readonly toolTimeout?: number
  /**
   * Bytes of a tool's result that the model is shown whole. Of a larger one it sees beginning and end, and what is left out; all of it
   * is recorded (`resultReader`). Default: half a byte for each token of the window.
   */
  readonly maxResult?: number
  /** Milliseconds without any sign of a reply, pings included, after which its call has stalled (`ModelStalled`). Default 60,000. */
  readonly stallTimeout?: number
  /**
   * How often a call is made again that stalled, broke off, or met an overloaded API, a limit or a broken connection, after the time
   * that the API asks for. Default 3. The client's own retries are off.
   */
  readonly maxRetries?: number
  /** How often the model is asked at most, those not counted. Default 100. */
  readonly maxCalls?: number
  /** Ends the turn: what is complete is recorded. */
  readonly signal?: AbortSignal
  /** Where a reply broke off for good, keep its completed blocks and the beginning of a text. Default false. */
  readonly keepPartial?: boolean
  /** Keep a reply that came too late (`StaleContext`) on an abandoned branch. Default false. */
  readonly keepLate?: boolean
  /** Told the events of each reply's stream as they come. */
  readonly onEvent?: (event: ReplyEvent) => void
}

/** Options with every default filled in. */
export interface Settled extends Omit<TurnOptions, 'client' | 'summarizer'> {
  readonly client: Model
  readonly summarizer: Summarizer | undefined
  readonly context: ContextSettings
  /** What is to be configured. */
  readonly wanted: Configuration
  /** What the references in it stand for. */
  readonly secrets: ReadonlyMap<string, string>
  readonly run: Tools
  readonly toolTimeout: number
  readonly maxResult: number
  readonly maxCalls: number
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
const fields = z.record(z.string(), z.unknown())
/** A timer of more milliseconds than this fires at once. */
const milliseconds = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)
const tool = z.union([
  z.custom(isFunction),
  z.strictObject({
    run: z.custom(isFunction),
    idempotent: z.boolean().optional(),
    timeout: milliseconds.optional(),
  }),
])
/** What stands in a request by options of their own, and so in the log and in receipts. */
const reserved = ['model', 'system', 'tools', 'messages', 'stream']

const optionsSchema = z.strictObject({
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
          message: 'is no parameter: name it beside them, if it can be named',
        })
    })
    .optional(),
  context: fields.optional(),
  summarizer: z
    .union([z.literal(false), z.custom(isFunction), fields], {
      error: 'is settings of a summarizer, a function, or false',
    })
    .optional(),
  cache: z.union([z.literal(false), z.enum(['5m', '1h'])], { error: 'is 5m, 1h or false' }).optional(),
  systemMessages: z.boolean().optional(),
  toolTimeout: milliseconds.optional(),
  stallTimeout: milliseconds.optional(),
  maxRetries: z.int().min(0).optional(),
  maxResult: z.int().min(1).optional(),
  maxCalls: z.int().min(1).optional(),
  signal: z.instanceof(AbortSignal, { error: 'is no AbortSignal' }).optional(),
  keepPartial: z.boolean().optional(),
  keepLate: z.boolean().optional(),
  onEvent: z.custom(isFunction, { error: 'is no function' }).optional(),
})

const defaultWindow = 200_000
const defaultMaxTokens = 8_192
/** Tokens of a summary: so many, and an eighth of a window that is small. */
const mostSummary = 4_096

/** What is undefined is left out: it must not stand in the place of a default. */
const withoutUndefined = <T>(options: T): T =>
  typeof options === 'object' && options !== null && !Array.isArray(options)
    ? (Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T)
    : options

export const settle = (given: TurnOptions): E.Either<InvalidInput | SecretMissing, Settled> => {
  const options = withoutUndefined(given)
  // Before the schema, which would go through a list of four thousand million holes.
  const lists = copyJson({ system: options?.system, tools: options?.tools })
  if (E.isLeft(lists)) return E.left(invalidInput(lists.left.path, lists.left.problem))
  const checked = check(optionsSchema, options)
  if (E.isLeft(checked)) return checked
  const { model, system, tools, parameters = {} } = options
  // A copy: the caller's objects may change meanwhile.
  const copied = checkJson(dataSchemas.Configured, { model, system, tools, parameters })
  if (E.isLeft(copied)) return copied
  const secrets = secretsIn(copied.right.parameters)
  const missing = referencesIn(copied.right.parameters).filter((path) => !secrets.has(path))
  if (missing.length > 0) return E.left(secretMissing(missing))
  const client = modelOf(options.client)
  const { max_tokens: maxTokens = options.context?.maxOutput ?? defaultMaxTokens } = parameters
  const kept = typeof maxTokens === 'number' ? maxTokens : defaultMaxTokens
  const context = { window: defaultWindow, reserved: kept, ...withoutUndefined(options.context) }
  const limits = limitsOf(context, model)
  if (E.isLeft(limits)) return E.left(under('context', limits.left))
  const summarizing = summarizerOf(options, client, context.window)
  if (E.isLeft(summarizing)) return E.left(under('summarizer', summarizing.left))
  const wanted = wellFormed({
    ...copied.right,
    parameters: { ...copied.right.parameters, max_tokens: maxTokens },
  })
  return E.right({
    run: {},
    cache: '5m',
    toolTimeout: 120_000,
    maxResult: Math.ceil(context.window / 2),
    maxCalls: 100,
    ...options,
    client,
    context,
    summarizer: summarizing.right,
    wanted: { ...wanted, parameters: withoutSecrets(wanted.parameters) },
    secrets,
  })
}

/** What is wrong inside of an option. */
const under = (option: string, { path, message }: InvalidInput): InvalidInput => ({
  _tag: 'InvalidInput',
  path: path === '' ? option : `${option}.${path}`,
  message: path === '' ? `${option}: ${message}` : `${option}.${message}`,
})

const summarizerOf = (
  { summarizer: given = {}, model, stallTimeout, maxRetries }: TurnOptions,
  client: Model,
  window: number,
): E.Either<InvalidInput, Summarizer | undefined> => {
  if (given === false) return E.right(undefined)
  // What is given away may be changed; the history is gone on with.
  if (typeof given === 'function')
    return E.right((input) => given({ ...input, effective: structuredClone(input.effective) }))
  const maxTokens = Math.min(mostSummary, Math.ceil(window / 8))
  const patience = {
    ...(stallTimeout !== undefined && { stallTimeout }),
    ...(maxRetries !== undefined && { maxRetries }),
  }
  const settings = { model, window, maxTokens, ...patience, ...withoutUndefined(given) }
  return E.map(() => summarizer(client, settings))(summaryLimitsOf(settings))
}
