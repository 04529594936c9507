import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { conversationNotFound } from '../../commands/rejections.ts'
import { conversationOf, streamOf } from '../../events/ids.ts'
import { meantUuid, nearest } from '../../events/nearest.ts'
import type { TypedError } from '../../result/typed-error.ts'
import type { EventStore } from '../../store/port.ts'

/** Maximum number of conversations to search, newest first. The limit keeps errors fast in a large store. */
const mostLooked = 500

/**
 * Returns the given error. If it says that the conversation does not exist, the returned message also suggests the id that was probably
 * meant.
 */
export const withNearest = async <Failed extends TypedError>(
  store: EventStore,
  error: Failed,
): Promise<Failed> => {
  if (!('conversation' in error) || typeof error.conversation !== 'string') return error
  const { conversation: id } = error
  // The error for the missing parent of a fork has a different message.
  if (error.message !== conversationNotFound(id).message) return error
  const names = await store.newest([streamOf('')], undefined, mostLooked)()
  if (E.isLeft(names)) return error
  // A store may list a conversation that was never written, even the missing one.
  const ids = names.right.map((name) => conversationOf(name) ?? name).filter((other) => other !== id)
  const meant = meantBy(id, ids)
  return meant === undefined ? error : { ...error, message: `${error.message}: did you mean ${meant}?` }
}

/** Applies `withNearest` to the error of a failing task. */
export const orNearest =
  <Failed extends TypedError, A>(store: EventStore, task: TaskEither<Failed, A>): TaskEither<Failed, A> =>
  async () => {
    const answer = await task()
    return E.isLeft(answer) ? E.left(await withNearest(store, answer.left)) : answer
  }

/**
 * Returns the only id that begins with this text, not counting the ids of its subagents (`id:agent`). If there is no such id, returns
 * the id that differs in the fewest letters, or the UUID whose beginning was mistyped.
 */
const meantBy = (id: string, ids: readonly string[]): string | undefined => {
  const begun = ids.filter((other) => other.startsWith(id))
  const whole = begun.find((one) => begun.every((other) => other === one || other.startsWith(`${one}:`)))
  return whole ?? nearest(id, ids) ?? meantUuid(id, ids)
}
