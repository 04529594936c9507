// Long work in slices, so that the caller can do other things in between. The result does not depend on it.

/** A computation that yields to its caller after each slice. */
export type SliceGenerator<A> = Generator<void, A>

/** Number of items in a slice. */
export const sliceLength = 500

/** Runs all slices at once. */
export const atOnce = <A>(slices: Iterator<void, A>): A => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
  }
}
