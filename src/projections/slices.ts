// Long work in slices, so that who has other things to do can do them in between. What is computed does not depend on it.

/** Items that are worked on between two chances to do something else. */
export const sliceLength = 500

/** Does it all at once. */
export const atOnce = <A>(slices: Iterator<void, A>): A => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
  }
}
