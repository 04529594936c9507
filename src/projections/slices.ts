// Long computations run in slices, so that the caller can do other work in between. The slicing does not affect the result.

/** A computation that runs in slices of work and yields to its caller after each slice. */
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
