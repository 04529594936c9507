import type { UndoableType } from '../../core.ts'

// Undo and redo, recorded in the log as rewinds whose reason says so. They therefore work after a reload and in another browser.

export interface ActEvent {
  readonly position: number
  readonly type: string
  readonly data: object
}

/** Positions of the events that can be undone and redone. The last position in each list is the next to be undone or redone. */
export interface UndoStacks {
  readonly undo: readonly number[]
  readonly redo: readonly number[]
}

/** Returns the reason recorded in a rewind that undoes or redoes the event at position `act`. */
export const reasonOf = (way: keyof UndoStacks, act: number): string => `${way} of ${act}`

const acts: Readonly<Record<UndoableType, true>> = {
  Condensed: true,
  Truncated: true,
  Restored: true,
  Rewound: true,
}

/**
 * Returns the positions of the events that can be undone and redone. `events` must be in order and end with the conversation's last
 * event. Nothing before the last message, configuration or fork can be undone, because rewinding past such an event is a decision, not
 * an undo.
 */
export const undoStacksOf = (events: readonly ActEvent[]): UndoStacks => {
  const since = events.findLastIndex(({ type }) => !Object.hasOwn(acts, type)) + 1
  const undo: number[] = []
  const redo: number[] = []
  for (const { position, type, data } of events.slice(since)) {
    const reason = type === 'Rewound' && 'reason' in data ? data.reason : undefined
    const [done, undone] = [undo.at(-1), redo.at(-1)]
    if (done !== undefined && reason === reasonOf('undo', done)) redo.push(...undo.splice(-1))
    else if (undone !== undefined && reason === reasonOf('redo', undone)) undo.push(...redo.splice(-1))
    else {
      undo.push(position)
      redo.length = 0
    }
  }
  return { undo, redo }
}

/** Returns the command that undoes or redoes the next event; undefined if there is nothing to undo or redo. */
export const undoCommand = (undoing: UndoStacks, way: keyof UndoStacks) => {
  const act = undoing[way].at(-1)
  if (act === undefined) return undefined
  return { type: 'rewind', to: way === 'undo' ? act - 1 : act, reason: reasonOf(way, act) } as const
}
