import type { ConversationEvent } from '../../events/events.ts'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import { beginsTurn } from '../../commands/state.ts'
import type { Effective } from '../../projections/effective.ts'
import { type Log, parent, resolve } from '../../projections/path.ts'

/** The record of a conversation. */
export interface RecordedHistory {
  readonly log: Log
  /** Returns the effective history at a position; cheap if positions ascend. */
  readonly historyAt: (at: number) => Effective
  readonly waits: Waits
}

/** The record of which calls waited. */
export interface Waits {
  /** True if this store knows how the writer of a reply handled its calls. */
  readonly isKnown: (starts: string | undefined) => boolean
  /** Returns what the call of a reply waited for, or undefined if it did not wait. */
  readonly of: (reply: number, call: string) => 'approval' | 'handed-back' | undefined
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
  return {
    isKnown: (starts) => starts !== undefined && begun.has(starts),
    of: (reply, call) => waits.get(`${reply} ${call}`),
  }
}

/** The turn that a history belongs to: the position of the user's last message, and the events on the path since then, oldest first. */
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
