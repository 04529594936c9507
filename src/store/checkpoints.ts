import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { Checkpoint } from './port.ts'

/** A position in a store that numbers its events. */
export interface NumberedCheckpoint {
  readonly position: number
  /** Text that distinguishes the event at `position` from events in other stores; undefined in checkpoints of version 0.1. */
  readonly mark: string | undefined
}

/**
 * Returns the checkpoint for a position in a store.
 *
 * @param mark text that makes the checkpoint invalid in other stores
 */
export const checkpointAt = (position: number, mark: string): Checkpoint => `${position}-${mark}`

/** Returns the part of an event's id that makes the checkpoint of the event valid only in this store and in its copies. */
export const markOf = (id: unknown): string => String(id).slice(0, 8)

/** Parses a checkpoint; returns undefined if it is malformed. */
export const parseCheckpoint = (checkpoint: unknown): NumberedCheckpoint | undefined => {
  if (typeof checkpoint !== 'string') return undefined
  const [, digits, mark] = /^(\d{1,16})(?:-(.+))?$/s.exec(checkpoint) ?? []
  const position = Number(digits)
  return Number.isSafeInteger(position) ? { position, mark } : undefined
}

/** Returns the error for a checkpoint that the store at this URL never issued, or whose event it has lost. */
export const noCheckpoint = (url: string, checkpoint: unknown): InvalidInput => {
  const shown = typeof checkpoint === 'string' ? JSON.stringify(checkpoint.slice(0, 60)) : typeof checkpoint
  return invalidInput('after', `${shown} is not a checkpoint of ${url}: pass one that this store issued`)
}
