import { estimateItem } from '../agent/context/tokens/measure.ts'
import { countsOfReply } from '../agent/context/tokens/usage.ts'
import type { ConversationEvent } from '../events/events.ts'
import { itemIn } from '../projections/effective.ts'

// The tokens of a context, kept event by event. They equal `countTokens` at every reply with a usage, and everywhere in a conversation
// without markers whose replies are all of one model. After a marker they are close to it until the next such reply, because
// `countTokens` then measures every shown item again; an index that did that would read whole contexts.

/** State from which the tokens after the next event follow. */
export interface TokenMeter {
  /** Estimated tokens of the recorded system prompt and tools; undefined if none are recorded. */
  readonly prompt?: number | undefined
  /** Tokens of the prompt that the context's tokens include, `beside` excepted. */
  readonly prompted: number
  /** Tokens that the API counted besides our estimates of prompt and messages; without a recorded prompt, these are its tokens. */
  readonly beside: number
  /** Position of the reply that `beside` follows from; -1 if there is none. */
  readonly countedAt: number
  /** Last reply with a usage, if no marker came since. */
  readonly reply?: CountedReply | undefined
  /** Estimated tokens of the messages after that reply; including it if it is unfinished. */
  readonly since: number
  /** Actual tokens of earlier messages, and our estimates of the same. */
  readonly actual: number
  readonly estimated: number
  /** True if the API has counted all of the context. */
  readonly isMeasured?: true | undefined
}

interface CountedReply {
  readonly input: number
  readonly output: number
  readonly isUnfinished?: true | undefined
  readonly thinks?: true | undefined
  /** Id of the request, if the last message is a part of the reply: the next part has the same. */
  readonly requestId?: string | undefined
}

export const newMeter: TokenMeter = {
  prompted: 0,
  beside: 0,
  countedAt: -1,
  since: 0,
  actual: 0,
  estimated: 0,
}

/** Properties of a message that its tokens follow from. */
export interface MessageTokens {
  readonly position: number
  /** Estimated tokens of the message. */
  readonly estimated: number
  /** Usage that the message reports, if it is a reply. */
  readonly input?: number | undefined
  readonly output?: number | undefined
  readonly isUnfinished?: boolean | undefined
  /** True if the usage does not describe the context, because the reply was interrupted. */
  readonly isInvalid?: boolean | undefined
  readonly thinks?: boolean | undefined
  readonly requestId?: string | undefined
  /** True if the message continues the reply before it; undefined to compare request ids. */
  readonly isPart?: boolean | undefined
}

/** Returns the properties of a message that its tokens follow from. */
export const messageTokens = (event: ConversationEvent<'MessageAppended'>): MessageTokens => {
  const item = itemIn(event)
  if (!item) return { position: event.position, estimated: 0 }
  const { estimated, thinks } = estimateItem(item)
  const counts = countsOfReply(item)
  const { requestId, context, stopReason } = event.data.role === 'assistant' ? (event.data.origin ?? {}) : {}
  return {
    position: event.position,
    estimated,
    ...(counts && { input: counts.input, output: counts.output, isUnfinished: !counts.finished }),
    isInvalid: context !== undefined && stopReason === null,
    thinks,
    ...(requestId !== undefined && { requestId }),
  }
}

/** Number of estimated tokens that are assumed to be exact, as in `countTokens`. */
const trust = 2_000

/** Returns the ratio of actual to estimated tokens that earlier messages show, from 0.5 to 2. */
export const correctionOf = ({ actual, estimated }: Pick<TokenMeter, 'actual' | 'estimated'>): number =>
  Math.min(2, Math.max(0.5, (trust + actual) / (trust + estimated)))

/** Returns whether a message continues the reply before it. */
export const isPartOf = ({ reply }: TokenMeter, { isPart, requestId }: MessageTokens): boolean =>
  isPart ?? (requestId !== undefined && requestId === reply?.requestId)

/** Meter and tokens of the context after a message, and the message's own tokens. */
export interface MeteredMessage {
  readonly meter: TokenMeter
  readonly tokens: number
  readonly own: number
}

/**
 * Returns the meter after a message, and the tokens of the context.
 *
 * @param tokens tokens of the context before the message
 */
export const meterMessage = (meter: TokenMeter, tokens: number, message: MessageTokens): MeteredMessage => {
  const { position, estimated: own, input, output = 0, isUnfinished, thinks, requestId } = message
  const { reply: { requestId: _, ...before } = noReply, ...rest } = meter
  const isPart = isPartOf(meter, message)
  const correction = correctionOf(meter)
  if (input === undefined) {
    const isCounted = isPart && !before.isUnfinished
    const reply = before.input > 0 ? { ...before, ...(isPart && { requestId }) } : undefined
    const since = isCounted ? meter.since : meter.since + own
    const isMeasured = isCounted ? meter.isMeasured : undefined
    const added = isCounted ? 0 : Math.round(correction * own)
    return { meter: { ...rest, reply, since, isMeasured }, tokens: tokens + added, own: added }
  }
  const reply: CountedReply = {
    input,
    output,
    ...(isUnfinished && { isUnfinished }),
    ...(thinks && { thinks }),
    ...(requestId !== undefined && { requestId }),
  }
  const since = isUnfinished ? own + (isPart ? meter.since : 0) : 0
  const isMeasured = isUnfinished ? undefined : (true as const)
  const isGap = !isPart && before.input > 0 && input > before.input
  const learned =
    isGap && !(before.isUnfinished && before.thinks) ? withGap(meter, before, input - before.input) : meter
  const said = isUnfinished ? Math.max(output, Math.round(correctionOf(learned) * since)) : output
  const now = { ...rest, actual: learned.actual, estimated: learned.estimated, reply, since, isMeasured }
  if (isPart || isGap) return { meter: now, tokens: input + said, own: input + said - tokens }
  if (message.isInvalid) return { meter: now, tokens: tokens + said, own: said }
  const beside = meter.beside + input - tokens
  return { meter: { ...now, beside, countedAt: position }, tokens: input + said, own: said }
}
const noReply: CountedReply = { input: 0, output: 0 }

const withGap = (meter: TokenMeter, { output, isUnfinished }: CountedReply, tokens: number) => ({
  actual: meter.actual + (isUnfinished ? tokens : Math.max(0, tokens - output)),
  estimated: meter.estimated + meter.since,
})

/**
 * Returns the meter without what the API counted besides our estimates, because the counted content is no longer shown.
 *
 * @param beside tokens of the prompt that no event records, if none is recorded
 */
export const withoutCount = (meter: TokenMeter, beside: number): TokenMeter => {
  const { prompt } = meter
  const prompted = prompt === undefined ? 0 : Math.round(correctionOf(meter) * prompt)
  return { ...withoutReply(meter), prompted, beside: prompt === undefined ? beside : 0, countedAt: -1 }
}

/** Returns the tokens of the prompt, recorded or not, that a context's tokens include. */
export const promptOf = ({ prompted, beside }: TokenMeter): number => prompted + beside

/** Returns the meter after an event that changes more than the end of the context. */
export const withoutReply = (meter: TokenMeter): TokenMeter => ({
  ...meter,
  reply: undefined,
  since: 0,
  isMeasured: undefined,
})

/** Returns the tokens that the API counted in the context, but no event records: the prompt of an imported conversation. */
export const unrecordedTokens = ({ prompt, beside }: TokenMeter): number =>
  prompt === undefined ? Math.max(0, beside) : 0
