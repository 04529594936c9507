// Long work in slices, so that the caller can do other things in between. The result does not depend on it.

/** Work that returns to its caller after each slice. */
export type SliceGenerator<A> = Generator<void, A>

/** Items of a slice. */
export const sliceLength = 500

/** Does it all at once. */
export const atOnce = <A>(slices: Iterator<void, A>): A => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
  }
}
