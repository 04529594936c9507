import { createHash } from 'node:crypto'
import { createLruCache } from '../store/lru.ts'
import type { HeaderFields } from './request-input.ts'
import { requestError } from './problem.ts'

// Optimistic concurrency and repeated commands in HTTP.

/**
 * Returns the ETag of a conversation whose last position is `position`.
 *
 * @param body further content of the response, which may change without a new event
 */
export const revisionTag = (position: number, body?: object): string =>
  body === undefined ? `"r${position}"` : `"r${position}.${digestOf(body).slice(0, 12)}"`

/**
 * Returns the position on which a command was based, from its body or `If-Match`, or undefined for `If-Match: *`. Throws
 * `PreconditionRequired` if both are missing, so that no caller overwrites changes it has not seen.
 */
export const fenceOf = (after: number | undefined, headers: HeaderFields): number | undefined => {
  if (after === undefined && headers.get('if-match') === null)
    throw requestError(
      'PreconditionRequired',
      'say which state the command is based on: `after`, the last position that you have seen, or If-Match with the ETag of the conversation (`*`: any state)',
    )
  return optionalFence(after, headers)
}

/**
 * Returns the position on which a command was based, from its body or `If-Match`, or undefined if neither names one. Used for commands
 * that are valid at any time.
 */
export const optionalFence = (after: number | undefined, headers: HeaderFields): number | undefined => {
  const match = headers.get('if-match')
  if (match === null || match === '*') return after
  const position = /^"r(-?\d{1,16})(?:\.[^"]{1,64})?"$/.exec(match)?.[1]
  if (position === undefined)
    throw requestError('InvalidRequest', 'If-Match must be the ETag of a conversation, such as "r12", or *')
  if (after !== undefined && after !== Number(position))
    throw requestError(
      'InvalidRequest',
      `If-Match names position ${position}, but the body's \`after\` is ${after}: send only one of them`,
    )
  return Number(position)
}

/** Maximum length of a command id, in characters. The server keeps command ids in memory. */
const longestId = 1_000

/**
 * Returns the id of a command from its body or the `Idempotency-Key` header. Throws `InvalidRequest` if the two differ or the key is
 * too long.
 */
export const commandIdOf = (commandId: string | undefined, headers: HeaderFields): string | undefined => {
  const key = headers.get('idempotency-key') ?? undefined
  if (key !== undefined && !(key.length >= 1 && key.length <= longestId))
    throw requestError('InvalidRequest', `Idempotency-Key must have 1 to ${longestId} characters`)
  if (key !== undefined && commandId !== undefined && key !== commandId)
    throw requestError('InvalidRequest', 'Idempotency-Key and commandId differ: give one of them')
  return commandId ?? key
}

/** Maximum number of completed commands kept in memory. */
const most = 10_000

export interface IdentifiedCommand {
  /** Conversation or worker to which the command applies. */
  readonly place: string
  readonly commandId: string
  readonly command: object
  /** True if the response is kept in memory because it could not be found in the log. */
  readonly isKept: boolean
}

/** Commands by id: those in progress, and the last 10,000 that were completed. */
export interface CommandBook {
  /**
   * Carries out a command. A concurrent repeat with the same id gets the same response; `isRepeat` is true for any repeat. Throws
   * `CommandReused` if the id was used for another command.
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
  const done = createLruCache<Noted>(most)
  return {
    once: async <A>({ place, commandId, command, isKept }: IdentifiedCommand, work: () => Promise<A>) => {
      const key = JSON.stringify([place, commandId])
      const digest = digestOf(command)
      const before = begun.get(key) ?? done.get(key)
      if (before && before.digest !== digest)
        throw requestError(
          'CommandReused',
          `commandId ${commandId} was used for another command: use a new one`,
        )
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

/** Returns a digest of a command without its id and `after`: `after` may differ when the command is sent again. */
const digestOf = (command: object): string =>
  createHash('sha256')
    .update(JSON.stringify({ ...command, after: undefined, commandId: undefined }))
    .digest('base64')
