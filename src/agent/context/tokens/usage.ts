import { isFields } from '../../../events/json.ts'
import type { EventData, Policy } from '../../../events/events.ts'
import { type Effective, isReply, type Item } from '../../../projections/effective.ts'
import { createListMap } from '../../../projections/memo.ts'
import { tokensIn } from '../../models/usage.ts'

/**
 * Reply whose actual token usage is recorded: the items from index `from` up to, but not including, `to`.
 *
 * 1. The context had `input` tokens when the reply began, including the prompt and everything shown before it.
 * 2. The reply itself has `output` tokens, or at least as many if it is not `finished`.
 */
export interface UsageAnchor {
  readonly from: number
  readonly to: number
  readonly position: number
  readonly model: string | undefined
  readonly input: number
  readonly output: number
  /**
   * True if the usage was reported at the end of the reply. If false, it was reported at the beginning of the stream and includes the
   * input, but only the first tokens of the reply.
   */
  readonly finished: boolean
}

/** Returns the replies of a history whose recorded usage can be used as a count, in order. */
export const anchorsOf = ({ items }: Effective): readonly UsageAnchor[] => {
  const counted = rememberedCounts(items, countedOf)
  const anchors: UsageAnchor[] = []
  for (let from = 0, to = 1; from < items.length; from = to++) {
    const reply = items[from]
    if (!isReply(reply)) continue
    while (isPart(items, to)) to++
    let last = to - 1
    while (last > from && counted[last] === 'unknown') last--
    const count = counted[last]
    if (typeof count !== 'object') continue
    const { model, input, output, finished } = count
    anchors.push({ from, to, position: reply.position, model, input, output, finished })
  }
  return anchors
}

/** Reports whether an item continues the preceding reply; a reply may be stored in several messages. */
const isPart = (items: readonly Item[], index: number): boolean => {
  const id = requestOf(items[index])
  return id !== undefined && id === requestOf(items[index - 1])
}

const requestOf = (item: Item | undefined): string | undefined =>
  isReply(item) ? item.origin?.requestId : undefined

type Counted = Pick<UsageAnchor, 'model' | 'input' | 'output' | 'finished'>

const rememberedCounts = createListMap<Item, Counted | 'nothing' | 'unknown'>()

/** Returns the token counts of a reply; `unknown` if the reply has no usage, `nothing` if its usage reports no input. */
const countedOf = (item: Item): Counted | 'nothing' | 'unknown' => {
  const { usage, stopReason, model } = (isReply(item) ? item.origin : undefined) ?? {}
  if (!usage) return 'unknown'
  const [first = usage, last = first] = iterationsOf(usage)
  const input = inputOf(first)
  if (input === 0) return 'nothing'
  const output = inputOf(last) + tokensIn(last, 'output_tokens') - reasoningIn(last) - input
  return { model, input, output, finished: stopReason !== null }
}

/** Returns the token counts of a reply; undefined if its usage reports no input. */
export const countsOfReply = (item: Item): Counted | undefined => {
  const counted = countedOf(item)
  return typeof counted === 'object' ? counted : undefined
}

type Usage = Readonly<Record<string, unknown>>

/** Returns the usage of the first and the last sampling after the last compaction by the API; empty if the usage has no breakdown. */
const iterationsOf = ({ iterations }: Usage): readonly Usage[] => {
  if (!Array.isArray(iterations)) return []
  const all = iterations.filter(isFields)
  const messages = all
    .slice(all.findLastIndex(({ type }) => type === 'compaction') + 1)
    .filter(({ type }) => type === 'message')
  return [messages[0], messages.at(-1)].flatMap((usage) => (usage ? [usage] : []))
}

/** Returns the input tokens of a usage, including cached ones. */
export const inputOf = (usage: Usage): number =>
  tokensIn(usage, 'input_tokens') +
  tokensIn(usage, 'cache_read_input_tokens') +
  tokensIn(usage, 'cache_creation_input_tokens')

/**
 * Reports whether two messages belong to the same reply; an import may have stored a reply in several messages. Compares the request
 * ids; if both are missing, compares the message ids and the input tokens, because routers may repeat a message id, but all parts of a
 * reply have the same input.
 */
export const isSameReply = (one: ReplyPart, other: ReplyPart): boolean => {
  const [a, b] = [one.origin ?? {}, other.origin ?? {}]
  if (a.requestId !== undefined || b.requestId !== undefined) return a.requestId === b.requestId
  const isSameMessage = one.messageId !== undefined && one.messageId === other.messageId
  return isSameMessage && inputOf(a.usage ?? {}) === inputOf(b.usage ?? {})
}
type ReplyPart = Pick<EventData['MessageAppended'], 'messageId' | 'origin'>

/** Returns the reasoning tokens that Chat Completions counts as output although they are not sent in later requests. */
const reasoningIn = ({ completion_tokens_details: details }: Usage): number =>
  isFields(details) ? tokensIn(details, 'reasoning_tokens') : 0

/**
 * Correction of our estimates, learned when the API refuses a request as too long: the actual number of tokens that the API had not
 * counted before, and our estimate of that number.
 */
export type TokenCorrection = NonNullable<Policy['learned']>
