/** How long the process may be kept from its timers and sockets, in milliseconds; one step of work comes on top. */
const longest = 8

let since = -Infinity
let turn: Promise<void> | undefined

/**
 * For work that goes from one microtask to the next: undefined while it may go on, else what to wait for, which is that the event loop
 * has come round. All such work of the process shares one allowance: two hundred readers that each take their time take it together.
 */
export const breath = (): Promise<void> | undefined => {
  if (performance.now() - since < longest) return undefined
  turn ??= new Promise((resolve) =>
    setImmediate(() => {
      since = performance.now()
      turn = undefined
      resolve()
    }),
  )
  return turn
}

/** How much text is worked on before anybody asks how long that took, in characters: short answers ask nothing. */
const slice = 128 * 1024

/** For work on many texts, one after the other: told of the length of each, it says when to take breath. */
export const pacer = (): ((length: number) => Promise<void> | undefined) => {
  let length = 0
  return (more) => {
    length += more
    if (length < slice) return undefined
    length = 0
    return breath()
  }
}

/** Goes through work that is done in slices. */
export const inBreaths = async <A>(slices: Iterator<void, A>): Promise<A> => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
    await breath()
  }
}
