import * as E from 'fp-ts/lib/Either.js'
import { limitsOf } from '../context/policy/settings.ts'
import { type SummarizerSettings, summaryLimitsOf } from '../context/summary/settings.ts'
import { type Summarizer, summarizer } from '../context/summary/summarizer.ts'
import { modelOf } from '../context/tokens/count.ts'
import { check, checkJson } from '../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { dataSchemas } from '../../events/events.ts'
import { copyJson, isFields } from '../../events/json.ts'
import { referencesIn, secretsIn, withoutSecrets } from '../../events/secrets.ts'
import type { Model } from '../models/model.ts'
import { wellFormed } from '../../projections/render/renderer.ts'
import { historyNote, searchName } from './results/history-tools.ts'
import { separate } from '../tools/separate.ts'
import type { Tools } from '../tools/settings.ts'
import { isPriced } from './spending/budget.ts'
import { secretMissing } from './errors.ts'
import {
  optionsSchema,
  type ResolvedTurnOptions,
  type SettleError,
  stepSchema,
  type TurnOptions,
  withoutUndefined,
} from './options.ts'
import { prices } from '../models/prices.ts'
import { unheard } from './stream/turn-event.ts'

const defaultWindow = 200_000
const defaultMaxTokens = 8_192
/** Maximum number of tokens in a summary, unless an eighth of the context window is less. */
const mostSummary = 4_096

/** Request fields that are often misplaced next to `parameters`, because other SDKs expect them there. */
const requestFields: ReadonlySet<string> = new Set(
  'max_tokens max_output_tokens max_completion_tokens temperature top_p top_k thinking stop_sequences stop tool_choice mcp_servers betas metadata service_tier reasoning_effort'.split(
    ' ',
  ),
)

/** Returns the error for a request field given as an option. */
const misplacedIn = (options: TurnOptions): InvalidInput | undefined => {
  for (const name in options) {
    const field = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    if (requestFields.has(field))
      return invalidInput(name, `is a field of the request: pass it as parameters: { ${field}: … }`)
  }
  return undefined
}

/** Reports whether the options themselves cause the error, regardless of the conversation. */
export const isRefusedOptions = (
  options: TurnOptions,
  { _tag, message }: Pick<InvalidInput, 'message'> & { readonly _tag: string },
): boolean => optionErrors.has(_tag) && (message.startsWith('prepareStep') || E.isLeft(settle(options)))

const optionErrors: ReadonlySet<string> = new Set<SettleError['_tag']>([
  'InvalidInput',
  'SecretMissing',
  'PriceMissing',
])

/** Checks the options of a turn and fills in all defaults; synchronously, because the caller may change the objects later. */
export const settle = (given: TurnOptions): E.Either<SettleError, ResolvedTurnOptions> => {
  const separated = separate(withoutUndefined(given))
  if (E.isLeft(separated)) return separated
  const options = separated.right
  const misplaced = misplacedIn(options)
  if (misplaced) return E.left(misplaced)
  // Comes before the schema, which would iterate over all holes of a sparse array, up to four billion.
  const lists = copyJson({ system: options?.system, tools: options?.tools })
  if (E.isLeft(lists)) return E.left(invalidInput(lists.left.path, lists.left.problem))
  const checked = check(optionsSchema, options)
  if (E.isLeft(checked)) return checked
  const { model, system, tools, parameters = {} } = options
  const copied = checkJson(dataSchemas.Configured, { model, system, tools, parameters })
  if (E.isLeft(copied)) return copied
  const configured = copied.right
  const secrets = secretsIn(configured.parameters)
  const missing = referencesIn(configured.parameters).filter((path) => !secrets.has(path))
  if (missing.length > 0) return E.left(secretMissing(missing))
  const client = modelOf(options.client)
  const { max_tokens: maxTokens = options.context?.maxOutput ?? defaultMaxTokens } = parameters
  const kept = typeof maxTokens === 'number' ? maxTokens : defaultMaxTokens
  const context = { window: defaultWindow, reserved: kept, ...withoutUndefined(options.context) }
  const limits = under('context', limitsOf(context, model))
  if (E.isLeft(limits)) return limits
  const summarizing = under('summarizer', summarizerOf(options, client, context.window))
  if (E.isLeft(summarizing)) return summarizing
  const all = { ...prices, ...options.prices }
  const { model: summaryModel = model } = typeof options.summarizer === 'object' ? options.summarizer : {}
  const priced = isPriced(options.budget ?? {}, all, [...new Set([model, summaryModel])])
  if (E.isLeft(priced)) return priced
  const wanted = wellFormed({
    ...configured,
    parameters: { ...configured.parameters, max_tokens: maxTokens },
  })
  const again: TurnOptions = {
    ...given,
    ...(configured.system !== undefined && { system: configured.system }),
    ...(given.tools && { tools: [...given.tools] }),
    parameters: { ...configured.parameters },
  }
  return E.right({
    cache: '5m',
    toolTimeout: 120_000,
    maxResult: Math.ceil(context.window / 2),
    maxCalls: 100,
    budget: {},
    whileHeld: 'wait',
    ttl: 10_000,
    emit: unheard,
    ...options,
    run: { ...endings(options.stopWhen), ...options.run },
    prices: all,
    client,
    context,
    summarizer: summarizing.right,
    wanted: { ...wanted, parameters: withoutSecrets(wanted.parameters) },
    secrets,
    withStep: (step) => {
      const own = withoutUndefined(step)
      const checkedStep = under('prepareStep', check(stepSchema, own))
      return E.isLeft(checkedStep) ? checkedStep : under('prepareStep', settle({ ...again, ...own }))
    },
  })
}

/** Returns functions for the tools that end the turn. Their calls need a result, but most of these tools have nothing to do. */
const endings = (stopWhen: TurnOptions['stopWhen']): Tools =>
  Array.isArray(stopWhen)
    ? Object.fromEntries(stopWhen.map((name: string) => [name, { run: () => ended, effect: 'none' }]))
    : {}
const ended = 'The turn ended with this call.'

/** Prefixes an error's path with the option that contains it. */
const under = <A, Err extends SettleError>(
  option: string,
  checked: E.Either<Err, A>,
): E.Either<Err | InvalidInput, A> =>
  E.mapLeft((error: Err): Err | InvalidInput => {
    const { _tag, message } = error
    if (_tag !== 'InvalidInput') return error
    const { path } = error
    return path === ''
      ? { _tag, path: option, message: `${option}: ${message}` }
      : { _tag, path: `${option}.${path}`, message: `${option}.${message}` }
  })(checked)

const summarizerOf = (
  { summarizer: given = {}, model, tools, stallTimeout, maxRetries }: TurnOptions,
  client: Model,
  window: number,
): E.Either<InvalidInput, Summarizer | undefined> => {
  if (given === false) return E.right(undefined)
  // A copy, because the function may modify its input.
  if (typeof given === 'function')
    return E.right((input) => given({ ...input, effective: structuredClone(input.effective) }))
  const maxTokens = Math.min(mostSummary, Math.ceil(window / 8))
  const patience = withoutUndefined({ stallTimeout, maxRetries })
  const settings: SummarizerSettings = { model, window, maxTokens, ...patience, ...withoutUndefined(given) }
  const noted = (): Summarizer => summarizer(client, { ...settings, ...withHistoryNote(settings, tools) })
  return E.map(noted)(summaryLimitsOf(settings))
}

/**
 * Returns the pinned texts of a summary, with a note that names the history tools if the turn has them: a model
 * rarely looks for hidden content unless it is told that it can.
 */
const withHistoryNote = (
  { pinned = [] }: SummarizerSettings,
  tools: TurnOptions['tools'] = [],
): Pick<SummarizerSettings, 'pinned'> => ({
  pinned: tools.some((each) => isFields(each) && each['name'] === searchName)
    ? (items) => [...(typeof pinned === 'function' ? pinned(items) : pinned), historyNote(items)]
    : pinned,
})
