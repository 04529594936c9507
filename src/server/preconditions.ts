import { createHash } from 'node:crypto'
import { remembered } from '../store/lru.ts'
import type { HeaderFields } from './asked.ts'
import { refused } from './problem.ts'

// Optimistic concurrency and repeats, as HTTP says them.

/** The ETag of a conversation that ends at this position. @param body what more its answer says, which changes without an event */
export const revisionTag = (position: number, body?: object): string =>
  body === undefined ? `"r${position}"` : `"r${position}.${digestOf(body).slice(0, 12)}"`

/**
 * The position that a command was decided on: from its body, or of `If-Match`; undefined for `If-Match: *`. Throws `PreconditionRequired`
 * if there is neither, so that nobody overwrites what he has not seen.
 */
export const fenceOf = (after: number | undefined, headers: HeaderFields): number | undefined => {
  if (after === undefined && headers.get('if-match') === null)
    throw refused(
      'PreconditionRequired',
      'say what the command was decided on: `after`, the last position that you have seen, or If-Match with the ETag of the conversation (`*`: whatever there is)',
    )
  return optionalFence(after, headers)
}

/** As `fenceOf`, of what may be said at any time; undefined if there is neither. */
export const optionalFence = (after: number | undefined, headers: HeaderFields): number | undefined => {
  const match = headers.get('if-match')
  if (match === null || match === '*') return after
  const position = /^"r(-?\d{1,16})(?:\.[^"]{1,64})?"$/.exec(match)?.[1]
  if (position === undefined)
    throw refused('InvalidRequest', 'If-Match is the ETag of a conversation, like "r12", or *')
  if (after !== undefined && after !== Number(position))
    throw refused('InvalidRequest', `If-Match says ${position} and the body's \`after\` ${after}: give one`)
  return Number(position)
}

/** As a `commandId` may be: it is remembered. */
const longestId = 1_000

/** The id of a command: from its body, or of `Idempotency-Key`. */
export const commandIdOf = (commandId: string | undefined, headers: HeaderFields): string | undefined => {
  const key = headers.get('idempotency-key') ?? undefined
  if (key !== undefined && !(key.length >= 1 && key.length <= longestId))
    throw refused('InvalidRequest', `Idempotency-Key has 1 to ${longestId} characters`)
  if (key !== undefined && commandId !== undefined && key !== commandId)
    throw refused('InvalidRequest', 'Idempotency-Key and commandId differ: give one of them')
  return commandId ?? key
}

/** How many commands are remembered. */
const most = 10_000

/** A command under an id. */
export interface IdentifiedCommand {
  /** What it is about: a conversation, a worker. */
  readonly place: string
  readonly commandId: string
  readonly command: object
  /** Its answer is remembered: it could not be found in the log. */
  readonly isKept: boolean
}

/** Which command an id stands for, of those that are being carried out and the last 10,000 that were. */
export interface CommandBook {
  /**
   * Carries out a command. Whoever gives the same under the same id meanwhile gets its answer; `isRepeat`: it was given before. Throws
   * `CommandReused` if the id stands for another command.
   */
  readonly once: <A>(
    named: IdentifiedCommand,
    work: () => Promise<A>,
  ) => Promise<{ readonly answer: A; readonly isRepeat: boolean }>
}

interface Noted {
  readonly digest: string
  readonly answer?: Promise<unknown>
}

export const commandBook = (): CommandBook => {
  const begun = new Map<string, Noted>()
  const done = remembered<Noted>(most)
  return {
    once: async <A>({ place, commandId, command, isKept }: IdentifiedCommand, work: () => Promise<A>) => {
      const key = JSON.stringify([place, commandId])
      const digest = digestOf(command)
      const before = begun.get(key) ?? done.get(key)
      if (before && before.digest !== digest)
        throw refused('CommandReused', `commandId ${commandId} stands for another command: use a new one`)
      if (before?.answer) return { answer: await (before.answer as Promise<A>), isRepeat: true }
      const answer = work()
      begun.set(key, { digest, answer })
      try {
        await answer
        done.set(key, isKept ? { digest, answer } : { digest })
      } finally {
        begun.delete(key)
      }
      return { answer: await answer, isRepeat: before !== undefined }
    },
  }
}

/** Of what a command does: what it was decided on may be another position when it is sent again. */
const digestOf = (command: object): string =>
  createHash('sha256')
    .update(JSON.stringify({ ...command, after: undefined, commandId: undefined }))
    .digest('base64')
