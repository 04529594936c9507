import {
  contentOf,
  type ConversationEvent,
  type Message,
  type Origin,
  type Receipt,
} from '../events/events.ts'
import type { Log } from '../projections/path.ts'
import type { CallName } from '../events/call-name.ts'
import { isUnproven, type ModelCall, createCallCounter, type UnprovenReply } from '../agent/receipts/calls.ts'
import { fingerprintsIn } from '../agent/receipts/receipt-blocks.ts'
import { createContinuationTest } from './same-call.ts'

/** A model's reply, with the recorded data about its request. */
export interface ReplyCall {
  /** Number of the call among the calls with a receipt, from 1; absent without a receipt. */
  readonly number?: number
  /** Positions of the reply and of the history for which it was requested. */
  readonly position: number
  readonly at: number
  /** Positions of all messages of the reply; an import may have stored a reply in several messages. */
  readonly parts: readonly number[]
  readonly origin: Origin
  readonly receipt?: Receipt
  /** Fingerprints of the request's blocks; absent if the receipt has none. */
  readonly prints?: string
  /** Earliest possible time of the request, and the time at which the reply was recorded (ISO 8601). */
  readonly asked: string
  readonly answered: string
}

/** Returns the model replies in a log, in the order in which they were recorded, including those on abandoned branches. */
export const repliesIn = (log: Log): readonly ReplyCall[] => {
  const callsOf = createCallCounter()
  const prints = new Map<number, string>()
  const replies: ReplyCall[] = []
  const isContinued = createContinuationTest(isTold)
  for (const event of log) {
    const isPart = isContinued(event)
    const { position } = event
    const answered = event.metadata.time
    for (const { number, kind, origin, receipt } of callsOf(event)) {
      if (kind !== 'reply') continue
      const own = fingerprintsIn(receipt, (base) => prints.get(base))
      if (own !== undefined) prints.set(position, own)
      const at = Math.min(receipt.position, position - 1)
      const asked = timeAt(log, at)
      replies.push({
        number,
        position,
        at,
        parts: [position],
        origin,
        receipt,
        asked,
        answered,
        ...(own !== undefined && { prints: own }),
      })
    }
    if (!isTold(event)) continue
    const { origin } = event.data
    const at = position - 1
    const reply = { position, at, parts: [position], origin, asked: timeAt(log, at), answered }
    const last = replies.at(-1)
    if (last && isPart)
      replies[replies.length - 1] = { ...last, parts: [...last.parts, position], origin, answered }
    else replies.push(reply)
  }
  return replies
}

/** Reports whether a reply was written by a program rather than a model. Such a reply names `<synthetic>` as its model. */
export const isOfProgram = ({ model }: Pick<Origin, 'model'>): boolean => model?.startsWith('<') === true

/** Reports whether an event is a model's reply without a receipt. */
const isTold = (event: ConversationEvent): event is UnprovenReply =>
  isUnproven(event) && !isOfProgram(event.data.origin)

const timeAt = (log: Log, at: number): string => (log[at] ?? log[0])?.metadata.time ?? ''

/** A request to a model with its answer: a reply, or a summary with a receipt. */
export interface AskedCall extends Pick<ReplyCall, 'position' | 'at' | 'parts' | 'origin' | 'receipt'> {
  readonly name: CallName
  readonly kind: ModelCall['kind']
}

/**
 * Returns the calls of a log in the order of their answers. In a log without any model names, which an import may produce, each
 * assistant message counts as a call.
 */
export const askedCallsIn = (log: Log): readonly AskedCall[] => {
  const replies = repliesIn(log).map((reply) => ({ ...reply, name: nameOf(reply), kind: 'reply' as const }))
  const summaries = callsInLog(log).flatMap((call): readonly AskedCall[] => {
    const { number: name, kind, position, receipt } = call
    return kind === 'summary' ? [{ ...call, name, kind, at: receipt.position, parts: [position] }] : []
  })
  const calls = [...replies, ...summaries].toSorted((a, b) => a.position - b.position)
  return calls.length > 0 ? calls : log.flatMap(nameless)
}

/** Returns the complete answer to a call, which may consist of several messages. */
export const answerOf = (log: Log, { parts }: Pick<ReplyCall, 'parts'>): readonly Message[] =>
  parts.flatMap((position) => {
    const event = log[position]
    return event ? contentOf(event) : []
  })

const nameOf = ({ number, position }: Pick<ReplyCall, 'number' | 'position'>): CallName =>
  number ?? `p${position}`

const nameless = ({ type, position, data }: ConversationEvent): readonly AskedCall[] =>
  type === 'MessageAppended' && data.role === 'assistant'
    ? [{ name: `p${position}`, kind: 'reply', position, at: position - 1, parts: [position], origin: {} }]
    : []

/** Returns the calls of a log that have a receipt, in order. */
export const callsInLog = (log: Log): readonly ModelCall[] => {
  const callsOf = createCallCounter()
  return log.flatMap((event) => callsOf(event))
}
