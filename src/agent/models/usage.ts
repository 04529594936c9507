import { isFields } from '../../events/json.ts'
import type { EventData, Origin } from '../../events/events.ts'

/** Token counts reported by the API. */
export interface Usage {
  /** Input tokens that were neither read from the prompt cache nor written to it. */
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** Token counts with the tokens written to the cache for one hour, which cost more. `cacheWrite` includes these. */
export interface UsageCounts extends Usage {
  readonly cacheWrite1h: number
  readonly terms?: PriceTerms
}

/** Terms of a call, as reported by the API, that affect its price in addition to its tokens. Standard terms are omitted. */
export interface PriceTerms {
  readonly tier?: string
  readonly speed?: string
  readonly geo?: string
  readonly webSearches?: number
  /** Other server tools that were used and may have a price. */
  readonly tools?: readonly string[]
}

/** Returns the count in a field of a reported usage; 0 if it is absent. */
export const tokensIn = (reported: Readonly<Record<string, unknown>>, field: string): number => {
  const { [field]: count } = reported
  return typeof count === 'number' && count > 0 ? count : 0
}

/** Returns the token counts and price terms in the usage that the API reports with a reply. Unreported counts are 0. */
export const countsIn = (reported: Origin['usage'] = {}): UsageCounts => {
  const { cache_creation: written } = reported
  return {
    input: tokensIn(reported, 'input_tokens'),
    cacheRead: tokensIn(reported, 'cache_read_input_tokens'),
    cacheWrite: tokensIn(reported, 'cache_creation_input_tokens'),
    cacheWrite1h: isFields(written) ? tokensIn(written, 'ephemeral_1h_input_tokens') : 0,
    output: tokensIn(reported, 'output_tokens'),
    ...termsIn(reported),
  }
}

const usual = new Set([
  'tier standard',
  'tier default',
  'speed standard',
  'geo ',
  'geo global',
  'geo not_available',
])
/** Server tools that cost nothing besides the tokens of their output. */
const freeTools = new Set(['web_fetch_requests'])

const termsIn = (reported: NonNullable<Origin['usage']>): Pick<UsageCounts, 'terms'> => {
  const { service_tier, speed, inference_geo, server_tool_use } = reported
  const used = isFields(server_tool_use) ? server_tool_use : {}
  const webSearches = tokensIn(used, 'web_search_requests')
  const tools = Object.keys(used).filter(
    (name) => name !== 'web_search_requests' && !freeTools.has(name) && tokensIn(used, name) > 0,
  )
  const named = Object.entries({ tier: service_tier, speed, geo: inference_geo }).filter(
    ([name, value]) => typeof value === 'string' && !usual.has(`${name} ${value}`),
  )
  if (named.length === 0 && webSearches === 0 && tools.length === 0) return {}
  const counted = { ...(webSearches > 0 && { webSearches }), ...(tools.length > 0 && { tools }) }
  return { terms: { ...Object.fromEntries(named), ...counted } }
}

export const usageIn = (reported: Origin['usage']): Usage => usageOfCounts(countsIn(reported))

export const usageOfCounts = (counts: UsageCounts): Usage => {
  const { input, cacheRead, cacheWrite, output } = counts
  return { input, cacheRead, cacheWrite, output }
}

export const noUsage: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }

export const sumOf = (one: Usage, other: Usage): Usage => ({
  input: one.input + other.input,
  cacheRead: one.cacheRead + other.cacheRead,
  cacheWrite: one.cacheWrite + other.cacheWrite,
  output: one.output + other.output,
})

/** Returns the number of input tokens, cached or not. */
export const inputOf = ({ input, cacheRead, cacheWrite }: Usage): number => input + cacheRead + cacheWrite

export const tokensOfUsage = (usage: Usage): number => inputOf(usage) + usage.output

/**
 * Reports whether two messages belong to the same reply; an import may have stored a reply in several messages. Compares the request
 * ids; if both are missing, compares the message ids and the input tokens, because routers may repeat a message id, but all parts of a
 * reply have the same input.
 */
export const isSameReply = (one: ReplyPart, other: ReplyPart): boolean => {
  const [a, b] = [one.origin ?? {}, other.origin ?? {}]
  if (a.requestId !== undefined || b.requestId !== undefined) return a.requestId === b.requestId
  const isSameMessage = one.messageId !== undefined && one.messageId === other.messageId
  return isSameMessage && inputOf(usageIn(a.usage)) === inputOf(usageIn(b.usage))
}
type ReplyPart = Pick<EventData['MessageAppended'], 'messageId' | 'origin'>
