import type { RecordLane } from './lane.ts'
import { planOf, type RecordPlan } from './plan.ts'
import type { ReadRequest } from './read-request.ts'
import { signatureOf } from './read-request.ts'
import { textsIn } from './message-keys.ts'
import type { ClientProfile } from './clients.ts'

/** A lane that a request may continue, and how. */
export interface LaneChoice {
  readonly lane: RecordLane
  readonly plan: RecordPlan
}

/** Facts about a request besides its content. */
export interface ChoiceContext {
  /** True if the program names its session, so that the lanes are those of this session. */
  readonly isNamed: boolean
  readonly profile: ClientProfile | undefined
}

/** Chooses the lane that a request continues; undefined if it begins a new conversation. */
export const chooseLane = (
  lanes: readonly RecordLane[],
  request: ReadRequest,
  context: ChoiceContext,
): LaneChoice | undefined => {
  const keys = request.messages.map(({ key }) => key)
  const reply = request.messages.findIndex(({ message }) => message.role === 'assistant')
  const own = new Set(request.messages.flatMap(({ anchor, isOwn }) => (isOwn ? [anchor] : [])))
  const scored = lanes.flatMap((lane) => {
    const items = lane.items()
    const depth = lane.depth(keys)
    const shared = items
      .flatMap(({ messages }) => messages)
      .filter(({ isOwn, anchor }) => isOwn && own.has(anchor)).length
    const isSame = signatureOf(lane.configuration()) === request.signature
    const quotes = (): boolean => isQuotedAfter(lane, request, 0)
    const sharesReply = reply >= 0 && depth > reply
    const isRepeat =
      depth === keys.length && items.reduce((sum, { messages }) => sum + messages.length, 0) === depth
    const isKin = sharesReply || isRepeat || shared > 0 || (isSame && (context.isNamed || quotes()))
    if (!isKin) return []
    return [{ lane, depth, shared, isSame }]
  })
  const [best] = scored.toSorted(
    (a, b) => Number(b.isSame) - Number(a.isSame) || b.depth - a.depth || b.shared - a.shared,
  )
  if (!best) return undefined
  return { lane: best.lane, plan: planFor(best.lane, request, context.profile) }
}

/** Plans the changes with which a lane leads to a request. */
export const planFor = (
  lane: RecordLane,
  request: ReadRequest,
  profile: ClientProfile | undefined,
): RecordPlan =>
  planOf(
    {
      items: lane.items(),
      itemsAt: lane.itemsAt,
      known: lane.deepest(request.messages.map(({ key }) => key)),
      isSummary: summaryIn(lane, request, profile),
    },
    request.messages,
  )

/** Number of messages in which a summary is looked for. */
const mostLooked = 3
/** Length from which a line is likely to be the only one of its kind, and the share of such lines of a reply that a summary has. */
const longLine = 30
const enoughLines = 0.6

/** Returns a function that reports whether the messages from an index on begin with a summary of what was said. */
const summaryIn =
  (lane: RecordLane, request: ReadRequest, profile: ClientProfile | undefined) =>
  (from: number): boolean =>
    profile?.summary?.test(textAfter(request, from)) === true || isQuotedAfter(lane, request, from)

const textAfter = ({ messages }: ReadRequest, from: number): string =>
  messages
    .slice(from, from + mostLooked)
    .flatMap(({ message }) => (message.role === 'assistant' ? [] : message.content.flatMap(textsIn)))
    .join('\n')

/** Reports whether the messages from an index on quote a reply of a conversation, or a summary of it. */
export const isQuotedAfter = (lane: RecordLane, request: ReadRequest, from: number): boolean => {
  const text = textAfter(request, from)
  return text !== '' && lane.replies().some((reply) => isQuoted(reply, text))
}

const isQuoted = (reply: string, text: string): boolean => {
  const inner = /<summary>([\s\S]*?)<\/summary>/.exec(reply)?.[1] ?? reply
  const lines = inner.split('\n').map((line) => line.trim())
  const long = lines.filter((line) => line.length >= longLine)
  if (long.length > 0) return long.filter((line) => text.includes(line)).length >= long.length * enoughLines
  const whole = inner.trim()
  return whole.length > 8 && text.includes(whole)
}

/** Reports whether a request asks for a summary of its messages. */
export const asksSummary = (
  request: ReadRequest,
  headers: Readonly<Record<string, string>>,
  profile: ClientProfile | undefined,
): boolean => {
  if (/"request_kind":\s*"compaction"/.test(headers['x-codex-turn-metadata'] ?? '')) return true
  if (!profile?.asksSummary) return false
  const last = request.messages.at(-1)
  const texts = last && last.message.role !== 'assistant' ? last.message.content.flatMap(textsIn) : []
  const { system = '' } = request.configuration
  const head = typeof system === 'string' ? system : system.flatMap(textsIn).join('\n')
  return [...texts, head.slice(0, 300)].some((text) => profile.asksSummary?.test(text))
}
