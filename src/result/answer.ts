import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

interface Answers<E, A> {
  readonly task: TaskEither<E, A>
  /** A promise that rejects with the errors of type `E`. */
  readonly promise: Promise<A>
}

/**
 * The two styles in which the same methods return results: TaskEithers and promises. Interfaces take the style as a parameter, because
 * editors show no documentation of mapped types.
 */
export type ResultStyle = keyof Answers<never, never>

/** Result, in the given style, of a method that may fail with `E`. */
export type MethodResult<W extends ResultStyle, E, A> = Answers<E, A>[W]
