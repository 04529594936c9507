import {
  contentOf,
  type ConversationEvent,
  type Message,
  type Origin,
  type Receipt,
  START,
} from '../events/events.ts'
import type { Log } from '../projections/path.ts'
import type { CallName } from '../events/call-name.ts'
import { isUnproven, type ModelCall, createCallCounter, type UnprovenReply } from '../agent/receipts/calls.ts'
import { isOfProgram } from '../agent/context/tokens/paid-call.ts'
import { createContinuationTest } from './same-call.ts'

/** A model's reply, with the recorded data about its request. */
export interface ReplyCall {
  /** Number of the call among the calls with a receipt, from 1; absent without a receipt. */
  readonly number?: number | undefined
  /** Positions of the reply and of the history for which it was requested. */
  readonly position: number
  readonly at: number
  /** Positions of all messages of the reply; an import may have stored a reply in several messages. */
  readonly parts: readonly number[]
  readonly origin: Origin
  readonly receipt?: Receipt | undefined
  /** Earliest possible time of the request, and the time at which the reply was recorded (ISO 8601). */
  readonly asked: string
  readonly answered: string
}

/** Returns the model replies in a log, in the order in which they were recorded, including those on abandoned branches. */
export const repliesIn = (log: Log): readonly ReplyCall[] => repliesAndSummariesIn(log).replies

const repliesAndSummariesIn = (log: Log) => {
  const callsOf = createCallCounter()
  const replies: RecordedReply[] = []
  const summaries: AskedCall[] = []
  const isContinued = createContinuationTest(isTold)
  for (const event of log) {
    const isPart = isContinued(event)
    const { position } = event
    for (const call of callsOf(event)) {
      const { number, kind, origin, receipt } = call
      const { position: at } = receipt
      if (kind === 'summary')
        summaries.push({ name: number, kind, position, at, parts: [position], origin, receipt })
      else replies.push(new RecordedReply(log, [position], Math.min(at, position - 1), number))
    }
    if (!isTold(event)) continue
    const last = replies.at(-1)
    if (last && isPart)
      replies[replies.length - 1] = new RecordedReply(log, [...last.parts, position], last.at, last.number)
    else replies.push(new RecordedReply(log, [position], position - 1, undefined))
  }
  return { replies, summaries }
}

/** A reply that reads its origin and times from the log each time, because a long log has many replies with large origins. */
class RecordedReply implements ReplyCall, AskedCall {
  readonly kind = 'reply'
  readonly parts: readonly number[]
  readonly at: number
  readonly number: number | undefined
  readonly #log: Log
  constructor(log: Log, parts: readonly number[], at: number, number: number | undefined) {
    this.#log = log
    this.parts = parts
    this.at = at
    this.number = number
  }
  get position(): number {
    return this.parts[0] ?? START
  }
  get name(): CallName {
    return this.number ?? `p${this.position}`
  }
  get origin(): Origin {
    return originAt(this.#log, this.parts.at(-1))
  }
  get receipt(): Receipt | undefined {
    return this.number === undefined ? undefined : originAt(this.#log, this.position).context
  }
  get asked(): string {
    return timeAt(this.#log, this.at)
  }
  get answered(): string {
    return timeAt(this.#log, this.parts.at(-1))
  }
}

const originAt = (log: Log, position = START): Origin => {
  const event = log[position]
  return (event?.type === 'MessageAppended' && event.data.origin) || {}
}

/** Reports whether an event is a model's reply without a receipt. */
const isTold = (event: ConversationEvent): event is UnprovenReply =>
  isUnproven(event) && !isOfProgram(event.data.origin)

const timeAt = (log: Log, at = START): string => (log[at] ?? log[0])?.metadata.time ?? ''

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
  const { replies, summaries } = repliesAndSummariesIn(log)
  const calls = [...replies, ...summaries].toSorted((a, b) => a.position - b.position)
  return calls.length > 0 ? calls : log.flatMap(nameless)
}

/** Returns the complete answer to a call, which may consist of several messages. */
export const answerOf = (log: Log, { parts }: Pick<ReplyCall, 'parts'>): readonly Message[] =>
  parts.flatMap((position) => {
    const event = log[position]
    return event ? contentOf(event) : []
  })

const nameless = ({ type, position, data }: ConversationEvent): readonly AskedCall[] =>
  type === 'MessageAppended' && data.role === 'assistant'
    ? [{ name: `p${position}`, kind: 'reply', position, at: position - 1, parts: [position], origin: {} }]
    : []

/** Returns the calls of a log that have a receipt, in order. */
export const callsInLog = (log: Log): readonly ModelCall[] => {
  const callsOf = createCallCounter()
  return log.flatMap((event) => callsOf(event))
}
