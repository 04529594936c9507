/** Maximum time that an answer spends examining candidates, in milliseconds. */
const longest = 1_000

/** Number of candidates that an answer examines before it may run out of patience: on a slow machine, too, a small store gets a whole answer. */
const leastExamined = 256

/**
 * Creates the patience of an answer, which begins now. The returned function takes the number of candidates that were examined since the
 * last call, and reports whether the answer may examine more.
 */
export const createPatience = (): ((examined: number) => boolean) => {
  const began = performance.now()
  let all = 0
  return (examined) => {
    all += examined
    return all < leastExamined || performance.now() - began < longest
  }
}
