import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

interface Answers<E, A> {
  readonly task: TaskEither<E, A>
  /** Rejects with the errors. */
  readonly promise: Promise<A>
}

/** The two ways in which the same methods answer. Interfaces have it as a parameter: editors show no documentation of mapped types. */
export type ResultStyle = keyof Answers<never, never>

/** How a method answers that may fail with `E`. */
export type MethodResult<W extends ResultStyle, E, A> = Answers<E, A>[W]
