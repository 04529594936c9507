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
