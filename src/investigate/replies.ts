import {
  contentOf,
  type ConversationEvent,
  type Message,
  type Origin,
  type Receipt,
} from '../events/events.ts'
import type { Log } from '../projections/path.ts'
import type { CallName } from '../events/call-name.ts'
import { isUnproven, type ModelCall, numberedCalls, type UnprovenReply } from '../agent/receipts/calls.ts'
import { fingerprintsIn } from '../agent/receipts/receipt-blocks.ts'
import { continuedReplies } from './same-call.ts'

/** A reply of a model: what it was asked with, as far as that is recorded. */
export interface ReplyCall {
  /** The number of the call, from 1, among those with a receipt; without a receipt, none. */
  readonly number?: number
  /** Position of the reply, and of the history that it answers. */
  readonly position: number
  readonly at: number
  /** Positions of all its messages: an import may have stored a reply in parts. */
  readonly parts: readonly number[]
  readonly origin: Origin
  readonly receipt?: Receipt
  /** The fingerprints of the request's blocks, if its receipt tells them. */
  readonly prints?: string
  /** ISO 8601: when the request could be made at the earliest, and when the reply was recorded. */
  readonly asked: string
  readonly answered: string
}

/** The replies of models in a log, in the order in which they were recorded, those of abandoned branches included. */
export const repliesIn = (log: Log): readonly ReplyCall[] => {
  const callsOf = numberedCalls()
  const prints = new Map<number, string>()
  const replies: ReplyCall[] = []
  const isContinued = continuedReplies(isTold)
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

/** Whether a program said this itself, in the place of a model: it names `<synthetic>`. */
export const isOfProgram = ({ model }: Pick<Origin, 'model'>): boolean => model?.startsWith('<') === true

/** Replies without a receipt that a model gave. */
const isTold = (event: ConversationEvent): event is UnprovenReply =>
  isUnproven(event) && !isOfProgram(event.data.origin)

const timeAt = (log: Log, at: number): string => (log[at] ?? log[0])?.metadata.time ?? ''

/** Something that a model was asked, and its answer: a reply, or a summary with a receipt. */
export interface AskedCall extends Pick<ReplyCall, 'position' | 'at' | 'parts' | 'origin' | 'receipt'> {
  readonly name: CallName
  readonly kind: ModelCall['kind']
}

/**
 * The calls of a log in the order of their answers. A log that names no model anywhere, as an import may, has one for each message of an
 * assistant.
 */
export const askedIn = (log: Log): readonly AskedCall[] => {
  const replies = repliesIn(log).map((reply) => ({ ...reply, name: nameOf(reply), kind: 'reply' as const }))
  const summaries = callsInLog(log).flatMap((call): readonly AskedCall[] => {
    const { number: name, kind, position, receipt } = call
    return kind === 'summary' ? [{ ...call, name, kind, at: receipt.position, parts: [position] }] : []
  })
  const calls = [...replies, ...summaries].toSorted((a, b) => a.position - b.position)
  return calls.length > 0 ? calls : log.flatMap(nameless)
}

/** All that a call was answered. */
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

/** The calls of a log that have a receipt, in order. */
export const callsInLog = (log: Log): readonly ModelCall[] => {
  const callsOf = numberedCalls()
  return log.flatMap((event) => callsOf(event))
}
