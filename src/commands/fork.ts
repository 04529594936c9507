import * as E from 'fp-ts/lib/Either.js'
import type { Event } from '../events/events.ts'
import type { Command } from './command.ts'
import { conversationExists, conversationNotFound, outOfRange, type CommandRejection } from './rejections.ts'

/** State needed to decide a fork. */
export interface ForkState {
  /** Id of the parent conversation; `last` is the parent's last position. */
  readonly conversation: string
  readonly last: number
  /** Hash of the parent's event at the position of the fork. */
  readonly hash: string | undefined
  /** True if the conversation to create already exists. */
  readonly exists: boolean
}

/** Returns the first event of a fork, which refers to the parent's history at a position. Copies no events. */
export const fork = (
  { id, at }: Command<'fork'>,
  { conversation, last, hash, exists }: ForkState,
): E.Either<CommandRejection<'fork'>, readonly Event[]> => {
  const position = at ?? last
  if (last < 0) return E.left(conversationNotFound(conversation))
  if (exists) return E.left(conversationExists(id))
  if (position > last || hash === undefined) return E.left(outOfRange(conversation, position, last))
  return E.right([{ type: 'Forked', data: { from: { conversation, position, hash } } }])
}
