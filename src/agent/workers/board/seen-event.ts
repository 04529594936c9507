import type { AnswerTerms } from '../../../events/events.ts'
import { conversationOf, queuedIn, turnedIn } from '../../../events/ids.ts'
import { type Fields, isFields } from '../../../events/json.ts'
import type { TurnEventData, TurnEventType } from '../../../events/turn-events.ts'
import { counterfactualActor } from '../../../events/worker-events.ts'
import type { RecordedEvent } from '../../../store/port.ts'

// Facts that workers need from stored events, read without loading or decoding any history.

/** An event of a conversation or of one of its side streams, as workers see it. */
export interface SeenEvent {
  readonly conversation: string
  /** Name of the event. If the event opens a step, the step has the same name. */
  readonly name: string
  readonly commandId: string
  /** Time of the event, for display: ISO 8601, UTC. */
  readonly time: string
  /** Terms of the answer that the event requests, if any. */
  readonly asks?: AnswerTerms | undefined
  readonly what: What
}

/**
 * Meaning of an event for its step. `said`: the model has to answer the event; `goes-on`: the same step continues; `final`: the model
 * has finished.
 */
type What =
  | { readonly type: 'said' | 'goes-on' | 'final' | 'rewound' | 'forked' | 'queued' | 'taken' | 'other' }
  | { readonly [T in TurnEventType]: { readonly type: T; readonly data: TurnEventData[T] } }[TurnEventType]

/**
 * Parses a JSON object; returns an empty object if the text is invalid. On a server, other programs may write to streams with matching
 * names, and their events must not stop a worker.
 */
export const fieldsIn = (json: string): Fields => {
  try {
    const value: unknown = JSON.parse(json)
    return isFields(value) ? value : {}
  } catch {
    return {}
  }
}

const askingOf = (asked: unknown): AnswerTerms | undefined =>
  asked === true ? {} : isFields(asked) ? asked : undefined

/** Reports whether an event matters even if nothing is known of its conversation: it requests an answer, or a program runs a turn. */
export const mayMatter = ({ type, metadata }: RecordedEvent): boolean =>
  type === 'TurnRequested' || type === 'TurnClaimed' || metadata.includes('"answer":')

/** Reports whether an event begins a fork in which a model is sampled again. */
export const beginsSample = ({ type, metadata }: RecordedEvent): boolean => {
  if (type !== 'Forked') return false
  const { actor } = fieldsIn(metadata)
  return isFields(actor) && actor['kind'] === counterfactualActor
}

/** Reports whether a reply is final: the model has finished. */
export const isFinal = ({ content, origin }: Pick<MessageFields, 'content' | 'origin'>): boolean => {
  const stopReason = isFields(origin) ? origin['stopReason'] : undefined
  const blocks: readonly unknown[] = Array.isArray(content) ? content : []
  const calls = blocks.some((block) => isFields(block) && block['type'] === 'tool_use')
  const isCalling = calls && (stopReason === undefined || stopReason === 'tool_use')
  return !isCalling && stopReason !== 'pause_turn'
}

interface MessageFields {
  readonly role?: unknown
  readonly content?: unknown
  readonly origin?: unknown
}

const messageIn = (message: MessageFields): What => {
  if (message.role === 'user') return { type: 'said' }
  if (message.role !== 'assistant') return { type: 'other' }
  return { type: isFinal(message) ? 'final' : 'goes-on' }
}

const turnFacts: ReadonlySet<string> = new Set<TurnEventType>([
  'TurnRequested',
  'TurnClaimed',
  'TurnReleased',
  'TurnParked',
  'TurnUnparked',
  'TurnCancelled',
  'CallDecided',
])

/** A stored event with its parsed JSON, shared by all its readers. */
export interface ReadEvent extends Pick<RecordedEvent, 'stream' | 'revision' | 'type'> {
  /** Fields of the event's data; empty for types of events whose data is not needed. */
  readonly data: Fields
  readonly metadata: Fields
}

const isLookedAt = (type: string): boolean =>
  type === 'MessageAppended' || type === 'Condensed' || turnFacts.has(type)

export const readEvent = ({ stream, revision, type, data, metadata }: RecordedEvent): ReadEvent => {
  const read = isLookedAt(type) ? fieldsIn(data) : {}
  return { stream, revision, type, data: read, metadata: fieldsIn(metadata) }
}

const whatOf = ({ type, data }: ReadEvent): What => {
  if (type === 'MessageAppended') return messageIn(data)
  if (type === 'Rewound') return { type: 'rewound' }
  if (type === 'Forked') return { type: 'forked' }
  if (type === 'Queued') return { type: 'queued' }
  if (type === 'Taken') return { type: 'taken' }
  return turnFacts.has(type) ? ({ type, data } as What) : { type: 'other' }
}

/** Returns the milliseconds from a recorded time to `time`; 0 if the clocks of two machines say that it lies ahead. */
export const ageOf = (recorded: string, time: number): number => Math.max(0, time - Date.parse(recorded)) || 0

/** Returns the event with what is left of its wait at this wall-clock time; unchanged if no time is given. */
export const restOfWait = (event: SeenEvent, time: number | undefined): SeenEvent => {
  const { what } = event
  if (time === undefined || what.type !== 'TurnReleased' || what.data.waitMs === undefined) return event
  const waitMs = Math.max(0, what.data.waitMs - ageOf(event.time, time))
  return { ...event, what: { ...what, data: { ...what.data, waitMs } } }
}

/** Returns the conversation to which a stream belongs; undefined if it belongs to no conversation. */
export const conversationIn = (stream: string): string | undefined =>
  conversationOf(stream) ?? turnedIn(stream) ?? queuedIn(stream)

export const seenEventOf = (conversation: string, event: ReadEvent): SeenEvent => {
  const { metadata } = event
  const what = whatOf(event)
  const { tenant, priority } = what.type === 'TurnRequested' ? what.data : {}
  const requested = { ...(tenant !== undefined && { tenant }), ...(priority !== undefined && { priority }) }
  return {
    conversation,
    name: `${event.stream.slice(0, event.stream.indexOf('-'))}@${event.revision}`,
    commandId: String(metadata['commandId']),
    time: String(metadata['time']),
    asks: what.type === 'TurnRequested' ? requested : askingOf(metadata['answer']),
    what,
  }
}
