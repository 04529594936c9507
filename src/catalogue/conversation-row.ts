import type { ConversationEvent } from '../events/events.ts'
import { isUnproven } from '../agent/receipts/calls.ts'
import { chunkLength, type Columns, flags, noColumns } from './columns.ts'
import { isPartOf, type MessageTokens, type TokenMeter, type MeteredMessage } from './meter.ts'
import { type Facts, isMessage } from './facts.ts'
import { isFailure } from '../projections/columns.ts'
import { callsAfter, type TurnCalls } from '../projections/retries.ts'
import { isOfProgram } from '../agent/context/tokens/paid-call.ts'
import { isFailedRelease, type RecordedTurnFact } from '../events/turn-events.ts'
import { type CostSoFar, spend } from './cost-so-far.ts'
import { type StatusActivity, activityAfter, activityAfterTurn } from './status.ts'
import { titleOf, titleWithin } from '../projections/titles.ts'
import { traitOf } from './traits.ts'

/** A row of the table `threads`: a conversation in the catalogue. */
export interface ConversationRow {
  readonly n: number
  readonly id: string
  readonly parent: number | null
  /** Position of the first event in the conversation's own stream. */
  readonly from: number
  /** Last indexed position; `from - 1` if nothing is indexed. */
  readonly last: number
  readonly updated: number
  /** Time of the last indexed event that is not an erasure, as recorded in the event; empty if nothing is indexed. */
  readonly time: string
  /**
   * Beginning of the user's first words, taken from the conversation's own first events; empty if these events contain no words of the
   * user.
   */
  readonly title: string
  readonly tokens: number
  /** State from which the tokens after the next event follow. */
  readonly meter: TokenMeter
  /** Number of replies with a receipt, including inherited ones. */
  readonly calls: number
  /** Number of replies of a model, with a receipt or without, including inherited ones. */
  readonly replies: number
  /** Number of messages ever appended, including inherited ones. */
  readonly messages: number
  /** Number of events that record an error, including inherited ones. */
  readonly errors: number
  readonly has: number
  /** Time of the first own event, as recorded in it; empty if nothing is indexed. */
  readonly begun: string
  /** Format from which the first own event was imported; null if it was not. */
  readonly source: string | null
  /** Model of the last reply; for a fork without own replies, its parent's when it was forked. Null if unknown. */
  readonly model: string | null
  readonly costs: CostSoFar
  readonly activity: StatusActivity
  /** Tool calls of the current turn. */
  readonly attempts: TurnCalls
  /** Time of the last event of the conversation or its turns, in milliseconds since 1970. */
  readonly worked: number
  /** Last indexed revision of the conversation's turns; -1 if there is none. */
  readonly turns: number
  /** Reason why indexing of the conversation has stopped; null if it has not. */
  readonly problem: string | null
}

/** A conversation with changes that are not written yet. */
export interface ConversationBuffer {
  row: ConversationRow
  /** Changed chunks that are not written yet, by number. */
  readonly chunks: Map<number, Columns>
}

/** An event, its classification, and the size of its data in bytes. */
export interface ClassifiedEvent {
  readonly event: ConversationEvent
  readonly facts: Facts
  readonly size: number
}

/** Returns the number of the chunk that contains a position, and the index in that chunk. */
export const placeIn = ({ from }: Pick<ConversationRow, 'from'>, position: number) => ({
  number: Math.floor((position - from) / chunkLength),
  index: (position - from) % chunkLength,
})

/**
 * Adds the next event to a conversation.
 *
 * @param after tokens that the event adds, and tokens and meter of the context after it
 * @param open returns the stored chunk with a number; called if the chunk is not in memory
 */
export const take = (
  thread: ConversationBuffer,
  { event, facts, size }: ClassifiedEvent,
  after: MeteredMessage,
  open: (number: number) => Columns | undefined,
): void => {
  const { row, chunks } = thread
  const { number, index } = placeIn(row, facts.position)
  const columns = chunks.get(number) ?? (index > 0 ? open(number) : undefined) ?? noColumns(row.meter)
  chunks.set(number, columns)
  const receipt = isCall(event) ? 1 : 0
  const reply = receipt || isUnproven(event) ? 1 : 0
  const failed = isFailure(event) ? 1 : 0
  const { calls: attempts, isRetry } = callsAfter(row.attempts, event)
  const { time, actor } = event.metadata
  const at = Date.parse(time)
  if (facts.tools.length > 0) columns.tools.set(index, facts.tools)
  columns.kinds.push(facts.kind)
  columns.flags.push(
    receipt * flags.call +
      reply * flags.reply +
      failed * flags.failed +
      (isRetry ? flags.retry : 0) +
      messageFlags(row.meter, facts.message),
  )
  columns.sizes.push(size)
  columns.own.push(after.own)
  columns.estimated.push(facts.message?.estimated ?? 0)
  columns.input.push(facts.message?.input ?? 0)
  columns.tokens.push(after.tokens)
  columns.times.push(at)
  const isErasure = event.type === 'Erased'
  thread.row = {
    ...row,
    last: facts.position,
    ...(!isErasure && { updated: at, time }),
    title: row.title === '' && facts.position < titleWithin ? titleOf([event]) : row.title,
    tokens: after.tokens,
    meter: after.meter,
    calls: row.calls + receipt,
    replies: row.replies + reply,
    errors: row.errors + failed,
    messages: row.messages + (isMessage(facts.kind) ? 1 : 0),
    has: row.has | traitOf(facts.kind),
    begun: row.begun === '' ? time : row.begun,
    source: row.begun === '' && actor.kind === 'import' ? (actor.id ?? null) : row.source,
    model: modelOf(event) ?? row.model,
    costs: spend(row.costs, event),
    activity: activityAfter(row.activity, event),
    attempts,
    worked: isErasure || isUntimed(row, event) ? row.worked : Math.max(row.worked, at),
  }
}

/**
 * Reports whether an imported event does not say when it happened: all events of a session without times have the time of their import.
 */
const isUntimed = ({ time }: ConversationRow, { metadata }: ConversationEvent): boolean =>
  metadata.actor.kind === 'import' && (time === '' || time === metadata.time)

const messageFlags = (meter: TokenMeter, message: MessageTokens | undefined): number => {
  if (!message) return 0
  const { isUnfinished, isInvalid, thinks } = message
  const has = (isSet: boolean | undefined, flag: number): number => (isSet ? flag : 0)
  return (
    has(isUnfinished, flags.unfinished) +
    has(isInvalid, flags.invalid) +
    has(thinks, flags.thinks) +
    has(isPartOf(meter, message), flags.part)
  )
}

/** Adds the next event of a conversation's turns. */
export const takeTurn = (thread: ConversationBuffer, fact: RecordedTurnFact): void => {
  const { row } = thread
  const { revision, metadata } = fact
  const isAgain = isFailedAttempt(fact)
  thread.row = {
    ...row,
    ...(isAgain && { attempts: { ...row.attempts, isAgain } }),
    turns: revision,
    activity: activityAfterTurn(row.activity, fact),
    worked: Math.max(row.worked, Date.parse(metadata.time)),
  }
}

/** Reports whether a worker gave up on an attempt, or takes a step over from one that did not release it. */
const isFailedAttempt = ({ type, data }: RecordedTurnFact): boolean =>
  type === 'TurnReleased' ? isFailedRelease(data) : type === 'TurnClaimed' && data.attempt > 1

const modelOf = (event: ConversationEvent): string | undefined => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return undefined
  const { origin = {} } = event.data
  return isOfProgram(origin) ? undefined : origin.model
}

/** Reports whether an event is a reply with a receipt. */
const isCall = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && event.data.origin?.context !== undefined
