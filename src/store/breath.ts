/** Maximum time to block the process's timers and sockets, in milliseconds, not counting one step of work. */
const longest = 3

let since = -Infinity
let turn: Promise<void> | undefined

/**
 * Returns undefined while work that runs from microtask to microtask may continue; otherwise a promise that resolves in the next turn
 * of the event loop. All such work in the process shares one time allowance, regardless of the number of readers.
 */
export const breath = (): Promise<void> | undefined => {
  const passed = performance.now() - since
  // A negative time means that the clock was set back. A pause is then due.
  if (passed >= 0 && passed < longest) return undefined
  turn ??= new Promise((resolve) =>
    setImmediate(() => {
      since = performance.now()
      turn = undefined
      resolve()
    }),
  )
  return turn
}

/** Number of characters to process between checks of the time. Short texts are processed without a check. */
const slice = 128 * 1024

/**
 * Returns a function to call with the length of each text processed in sequence. If a pause is due, that function returns a promise to
 * await.
 */
export const pacer = (): ((length: number) => Promise<void> | undefined) => {
  let length = 0
  return (more) => {
    length += more
    if (length < slice) return undefined
    length = 0
    return breath()
  }
}

/** Runs work in steps, pausing for the event loop whenever a pause is due, and returns the result. */
export const inBreaths = async <A>(slices: Iterator<void, A>): Promise<A> => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
    const pause = breath()
    if (pause) await pause
  }
}
