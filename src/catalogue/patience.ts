/** Maximum time that one answer spends examining candidates, in milliseconds. */
const longest = 1_000

/**
 * Number of candidates that an answer may always examine, however long that takes, so that a small store gets a complete answer even on
 * a slow machine.
 */
const leastExamined = 256

/**
 * Starts the time limit of an answer. The returned function takes the number of candidates examined since its last call, and reports
 * whether the answer may examine more.
 */
export const createPatience = (): ((examined: number) => boolean) => {
  const began = performance.now()
  let all = 0
  return (examined) => {
    all += examined
    return all < leastExamined || performance.now() - began < longest
  }
}
