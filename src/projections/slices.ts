// Long work in slices, so that the caller can do other things in between. The result does not depend on it.

/** A computation in slices of work, after each of which it yields to its caller. */
export type SliceGenerator<A> = Generator<void, A>

/** Number of items processed in one slice of work. */
export const sliceLength = 500

/** Runs all slices of a computation without interruption and returns its result. */
export const atOnce = <A>(slices: Iterator<void, A>): A => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
  }
}
