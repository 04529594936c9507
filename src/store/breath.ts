/** How long the process may be kept from its timers and sockets, in milliseconds, not counting one step of work. */
const longest = 3

let since = -Infinity
let turn: Promise<void> | undefined

/**
 * For work that runs from one microtask to the next: undefined while it may continue; otherwise what to await, until the event loop has
 * come round. All such work of the process shares one allowance, however many readers there are.
 */
export const breath = (): Promise<void> | undefined => {
  const passed = performance.now() - since
  // Before it, by a clock that was moved: for whoever did that, time has passed.
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

/** How much text is processed before the time is checked, in characters: short answers never check it. */
const slice = 128 * 1024

/** For work on many texts, one after the other: called with the length of each, returns what to await, if anything. */
export const pacer = (): ((length: number) => Promise<void> | undefined) => {
  let length = 0
  return (more) => {
    length += more
    if (length < slice) return undefined
    length = 0
    return breath()
  }
}

/** Does work that is cut into slices. */
export const inBreaths = async <A>(slices: Iterator<void, A>): Promise<A> => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
    const pause = breath()
    if (pause) await pause
  }
}
