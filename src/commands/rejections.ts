import * as E from 'fp-ts/lib/Either.js'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import { acts } from '../events/event-traits.ts'
import type { Covers } from '../events/events.ts'

/** Rejections common to all commands. For a fork, `ConversationNotFound` may refer to its parent. */
type Any = InvalidInput | EventTooLarge | ConversationNotFound
/** Rejections of commands that accept `after`. */
type Fenced = Any | StaleContext
type Hiding = Fenced | NotShown | UnsafeCut | NothingToHide

/** Possible rejections, by type of command. */
export interface CommandRejections {
  readonly append: Fenced | OutOfRange
  readonly configure: Fenced
  readonly condense: Hiding
  readonly truncate: Hiding
  readonly restore: Fenced | NotShown
  readonly rewind: Fenced | OutOfRange | NothingToRewind
  readonly undo: Fenced | NothingToUndo
  readonly fork: Any | OutOfRange | ConversationExists
}
/** Reason why a command was refused. Nothing was written. */
export type CommandRejection<T extends keyof CommandRejections = keyof CommandRejections> =
  CommandRejections[T]

/** Events were written after the position from which the command was computed. Read the conversation again, then decide again. */
export interface StaleContext {
  readonly _tag: 'StaleContext'
  readonly message: string
  readonly conversation: string
  readonly after: number
  readonly last: number
}
/** The conversation has no event at the given position. */
export interface OutOfRange {
  readonly _tag: 'OutOfRange'
  readonly message: string
  readonly conversation: string
  readonly position: number
  readonly last: number
}
/** The effective history has no item at the given position, or the item is not of the kind that the command needs. */
export interface NotShown {
  readonly _tag: 'NotShown'
  readonly message: string
  readonly conversation: string
  readonly position: number
  readonly shown: readonly number[]
}
/** The given slice separates a tool call from its result, or includes part of a tool round that is still open. */
export interface UnsafeCut {
  readonly _tag: 'UnsafeCut'
  readonly message: string
  readonly conversation: string
  readonly covers: Covers
  /** Ids of the tool calls that would be separated from their results. */
  readonly calls: readonly string[]
}
/** Everything that may be hidden is already hidden. */
export interface NothingToHide {
  readonly _tag: 'NothingToHide'
  readonly message: string
  readonly conversation: string
}
/** The last event cannot be undone: it is not a rewind, a marker or a restore. */
export interface NothingToUndo {
  readonly _tag: 'NothingToUndo'
  readonly message: string
  readonly conversation: string
}
/** The conversation is already at the given position, or has fewer user turns than the rewind requests. */
export interface NothingToRewind {
  readonly _tag: 'NothingToRewind'
  readonly message: string
  readonly conversation: string
}
/** The store has no conversation with this id. */
export interface ConversationNotFound {
  readonly _tag: 'ConversationNotFound'
  readonly message: string
  readonly conversation: string
}
/** The conversation that a fork should create already exists. */
export interface ConversationExists {
  readonly _tag: 'ConversationExists'
  readonly message: string
  readonly conversation: string
}

export const staleContext = (conversation: string, after: number, last: number): StaleContext => ({
  _tag: 'StaleContext',
  message:
    after > last
      ? `conversation ${conversation} ends at position ${last}, but the command is based on position ${after}: read it again, then repeat the command`
      : `conversation ${conversation} is now at position ${last}, not at ${after}: read it again, then repeat the command`,
  conversation,
  after,
  last,
})

/** Reports whether a command was refused with `StaleContext`, because events were written since it was computed. */
export const isStale = (answer: E.Either<{ readonly _tag: string }, unknown>): boolean =>
  E.isLeft(answer) && answer.left._tag === 'StaleContext'

export const outOfRange = (conversation: string, position: number, last: number): OutOfRange => ({
  _tag: 'OutOfRange',
  message: `conversation ${conversation} has no position ${position}; it has 0 to ${last}`,
  conversation,
  position,
  last,
})

/** @param advice sentence, after a full stop, that says why the item is not shown and what to do */
export const notShown = (
  conversation: string,
  position: number,
  what: string,
  shown: readonly number[],
  advice = '',
): NotShown => ({
  _tag: 'NotShown',
  message: `conversation ${conversation} shows no ${what} at position ${position} now; it shows ${listed(shown)}${advice}`,
  conversation,
  position,
  shown,
})

const listed = (positions: readonly number[]): string => {
  if (positions.length === 0) return 'none'
  if (positions.length <= 20) return positions.join(' ')
  return `${positions.slice(0, 10).join(' ')} … ${positions.slice(-10).join(' ')}`
}

/** @param safe the nearest slice around this one that would separate no calls from their results, if there is one */
export const unsafeCut = (
  conversation: string,
  covers: Covers,
  calls: readonly string[],
  safe?: Covers,
): UnsafeCut => ({
  _tag: 'UnsafeCut',
  message: `hiding ${covers.first} to ${covers.last} would separate tool calls from their results (${calls.join(', ')}): choose a slice with both or neither${safe ? `, such as ${safe.first} to ${safe.last}` : ''}`,
  conversation,
  covers,
  calls,
})

export const nothingToHide = (conversation: string): NothingToHide => ({
  _tag: 'NothingToHide',
  message: `conversation ${conversation} has nothing left to hide: keep fewer messages, or name a slice with covers`,
  conversation,
})

const undoable = acts.join(', ').replace(/, (?=\w+$)/, ' or ')

export const nothingToUndo = (conversation: string): NothingToUndo => ({
  _tag: 'NothingToUndo',
  message: `conversation ${conversation} does not end with a ${undoable}: to take back messages, rewind; to show what an earlier marker hid, restore it`,
  conversation,
})

export const nothingToRewind = (conversation: string, why: string): NothingToRewind => ({
  _tag: 'NothingToRewind',
  message: `conversation ${conversation} ${why}`,
  conversation,
})

export const conversationNotFound = (conversation: string): ConversationNotFound => ({
  _tag: 'ConversationNotFound',
  message: `there is no conversation ${conversation} in this store`,
  conversation,
})

export const conversationExists = (conversation: string): ConversationExists => ({
  _tag: 'ConversationExists',
  message: `conversation ${conversation} already exists: choose another id`,
  conversation,
})
