import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

interface Answers<E, A> {
  readonly task: TaskEither<E, A>
  /** A promise that rejects with the errors. */
  readonly promise: Promise<A>
}

/**
 * The two styles in which the same methods return results. Interfaces take it as a parameter because editors show no documentation of
 * mapped types.
 */
export type ResultStyle = keyof Answers<never, never>

/** Result of a method that may fail with `E`. */
export type MethodResult<W extends ResultStyle, E, A> = Answers<E, A>[W]
