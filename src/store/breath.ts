/** Maximum time to block the process's timers and sockets, in milliseconds, not counting one step of work. */
const longest = 2

/** Start of the current time allowance; undefined if nothing has asked for time since the event loop last came round. */
let since: number | undefined
/** Resolves in the next turn of the event loop. */
let turn: Promise<void> = Promise.resolve()

const start = (): void => {
  if (since !== undefined) return
  since = performance.now()
  turn = new Promise((resolve) =>
    later(() => {
      since = undefined
      resolve()
    }),
  )
}
/** Runs a function in the next turn of the event loop, also in a browser. */
const later = (run: () => void): unknown =>
  typeof setImmediate === 'function' ? setImmediate(run) : setTimeout(run)

/**
 * Returns undefined while work that runs from microtask to microtask may continue; otherwise a promise that resolves in the next turn
 * of the event loop. All such work in the process shares one time allowance, regardless of the number of readers. The allowance begins
 * when work first asks in a turn of the event loop, or when it resumes after a pause.
 */
export const breath = (): Promise<void> | undefined => {
  start()
  const passed = performance.now() - (since ?? 0)
  // A negative time means that the clock was set back. A pause is then due.
  return passed >= 0 && passed < longest ? undefined : turn.then(start)
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
