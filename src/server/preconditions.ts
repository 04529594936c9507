import { createHash } from 'node:crypto'
import { remembered } from '../store/lru.ts'
import { refused } from './problem.ts'

// Optimistic concurrency and repeats, as HTTP says them.

/** The ETag of a conversation that ends at this position. */
export const revisionTag = (position: number): string => `"r${position}"`

/**
 * The position that a command was decided on: from its body, or of `If-Match`; undefined for `If-Match: *`. Throws `PreconditionRequired`
 * if there is neither, so that nobody overwrites what he has not seen.
 */
export const fenceOf = (after: number | undefined, headers: Headers): number | undefined => {
  if (after === undefined && headers.get('if-match') === null)
    throw refused(
      'PreconditionRequired',
      'say what the command was decided on: `after`, the last position that you have seen, or If-Match with the ETag of the conversation (`*`: whatever there is)',
    )
  return optionalFence(after, headers)
}

/** As `fenceOf`, of what may be said at any time; undefined if there is neither. */
export const optionalFence = (after: number | undefined, headers: Headers): number | undefined => {
  const match = headers.get('if-match')
  if (match === null || match === '*') return after
  const position = /^"r(-?\d{1,16})"$/.exec(match)?.[1]
  if (position === undefined)
    throw refused('InvalidRequest', 'If-Match is the ETag of a conversation, like "r12", or *')
  if (after !== undefined && after !== Number(position))
    throw refused('InvalidRequest', `If-Match says ${position} and the body's \`after\` ${after}: give one`)
  return Number(position)
}

/** The id of a command: from its body, or of `Idempotency-Key`. */
export const commandIdOf = (commandId: string | undefined, headers: Headers): string | undefined => {
  const key = headers.get('idempotency-key') ?? undefined
  if (key !== undefined && commandId !== undefined && key !== commandId)
    throw refused('InvalidRequest', 'Idempotency-Key and commandId differ: give one of them')
  return commandId ?? key
}

/** How many commands are remembered. */
const most = 10_000

/** Which command an id stands for, of the last 10,000 that were used. */
export interface CommandBook {
  /** Whether it was carried out before. Throws `CommandReused` if another one was: that is no repeat. */
  readonly isRepeat: (conversation: string, commandId: string, command: object) => boolean
  readonly note: (conversation: string, commandId: string, command: object) => void
}

export const commandBook = (): CommandBook => {
  const digests = remembered<string>(most)
  const keyOf = (conversation: string, commandId: string): string => JSON.stringify([conversation, commandId])
  return {
    isRepeat: (conversation, commandId, command) => {
      const known = digests.get(keyOf(conversation, commandId))
      if (known !== undefined && known !== digestOf(command))
        throw refused('CommandReused', `commandId ${commandId} stands for another command: use a new one`)
      return known !== undefined
    },
    note: (conversation, commandId, command) =>
      digests.set(keyOf(conversation, commandId), digestOf(command)),
  }
}

/** Of what a command does: what it was decided on may be another position when it is sent again. */
const digestOf = (command: object): string =>
  createHash('sha256')
    .update(JSON.stringify({ ...command, after: undefined, commandId: undefined }))
    .digest('base64')
