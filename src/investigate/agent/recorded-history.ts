import type { ConversationEvent } from '../../events/events.ts'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import { beginsTurn } from '../../commands/state.ts'
import type { Effective } from '../../projections/effective.ts'
import { type Log, parent, resolve } from '../../projections/path.ts'

/** A conversation's log, its effective histories and its waiting calls, as recorded. */
export interface RecordedHistory {
  readonly log: Log
  /** Returns the effective history at a position. Fast if positions are requested in ascending order. */
  readonly historyAt: (at: number) => Effective
  readonly waits: Waits
}

/** Record of the tool calls that waited, and of the turns that ended before the model did. */
export interface Waits {
  /** Reports whether this store has this record for a reply, given the `starts` of the reply's origin. */
  readonly isKnown: (starts: string | undefined) => boolean
  /** Returns the reason why a call of a reply waited; undefined if it did not wait. */
  readonly of: (reply: number, call: string) => 'approval' | 'handed-back' | undefined
  /** Reports whether a turn ended at this position: another turn made the next call. */
  readonly endsAt: (position: number) => boolean
}

export const waitsIn = (facts: readonly RecordedTurnFact[]): Waits => {
  const begun = new Set(facts.flatMap(({ type, id }) => (type === 'TurnsBegun' ? [id] : [])))
  const waits = new Map(
    facts.flatMap((fact) =>
      fact.type === 'CallsWaiting'
        ? fact.data.calls.map((call) => [`${fact.data.reply} ${call}`, fact.data.why] as const)
        : [],
    ),
  )
  // A worker's release has the position of the fact before it, so the turn ended there or before the next fact.
  const ends = facts.flatMap((fact, index) =>
    fact.type === 'TurnReleased' && fact.data.reason === 'done'
      ? [{ first: fact.data.at, last: facts[index + 1]?.data.at ?? fact.data.at }]
      : [],
  )
  return {
    endsAt: (position) => ends.some(({ first, last }) => first <= position && position <= last),
    isKnown: (starts) => starts !== undefined && begun.has(starts),
    of: (reply, call) => waits.get(`${reply} ${call}`),
  }
}

/** The turn that a history belongs to: the position of the event that began it, and the later events on the path, oldest first. */
export interface Since {
  readonly began: number
  readonly path: readonly ConversationEvent[]
}

export const sinceUserIn = (log: Log, at: number): Since => {
  const path: ConversationEvent[] = []
  let place = resolve(log, at)
  for (let event = log[place]; event && !beginsTurn(event); event = log[place]) {
    path.push(event)
    place = parent(log, place)
  }
  return { began: place, path: path.toReversed() }
}
