import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { isTyped, toError, type TypedError } from './typed-error.ts'

/**
 * Work that may fail with a typed error: an async generator that returns its value, or yields its error and is never resumed. Such
 * generators call each other with `yield*`; an error in the callee also ends the caller and runs its `finally` blocks. ADR 16.
 */
export type Fallible<E, A> = AsyncGenerator<E, A, never>

/** Returns the right value of an Either; a left ends the calling generator with that error. */
export async function* unwrap<E, A>(
  answer: E.Either<E, A> | Promise<E.Either<E, A>> | TaskEither<E, A>,
): Fallible<E, A> {
  const given = await (typeof answer === 'function' ? answer() : answer)
  return E.isRight(given) ? given.right : yield given.left
}

/**
 * Returns the result of work that throws typed errors, such as an iteration that throws `E`. A typed error ends the calling generator;
 * any other error is a bug and is rethrown.
 */
export async function* catchTyped<E extends TypedError, A>(work: () => Promise<A>): Fallible<E, A> {
  try {
    return await work()
  } catch (error) {
    if (!isTyped(error)) throw error
    return yield error as Error & E
  }
}

/** Returns the right value like `unwrap`, but throws a left as an `Error`, for use in iterations. */
export const orThrow = async <E extends TypedError, A>(
  answer: E.Either<E, A> | Promise<E.Either<E, A>> | TaskEither<E, A>,
): Promise<A> => {
  const given = await (typeof answer === 'function' ? answer() : answer)
  if (E.isLeft(given)) throw toError(given.left)
  return given.right
}

/** Runs the work to its result. If the work has a bug, the promise rejects with the original error. */
export const run = async <E, A>(work: Fallible<E, A>): Promise<E.Either<E, A>> => {
  const end = await work.next()
  if (end.done === true) return E.right(end.value)
  await work.return(undefined as never)
  return E.left(end.value)
}

/** Converts fallible work to a TaskEither, which the store port and the library's public functions use. */
export const task =
  <E, A>(work: () => Fallible<E, A>): TaskEither<E, A> =>
  () =>
    run(work())
