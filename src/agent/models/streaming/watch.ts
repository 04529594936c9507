import { longestTimer } from '../call-model.ts'

/** Watchdog of a call: aborts the call when the caller's signal aborts, or when nothing has arrived for too long. */
export interface CallWatchdog {
  /** Signal to pass to the call; the watchdog aborts it. */
  readonly signal: AbortSignal
  /** Restarts the timeout, because data has arrived. */
  readonly alive: () => void
  readonly isStalled: () => boolean
  /** Ends the watch: clears the timer, removes the listener from the caller's signal, and aborts `signal`. */
  readonly end: () => void
}

/** Abort reason for a call that has ended. Created once, because each new exception would capture a stack trace. */
const over = new DOMException('the call is over', 'AbortError')

/**
 * Creates the watchdog of a call.
 *
 * @param timeout milliseconds without data after which the call counts as stalled
 */
export const watch = (caller: AbortSignal | undefined, timeout: number): CallWatchdog => {
  const controller = new AbortController()
  let isStalled = false
  let round: NodeJS.Immediate | undefined
  const abort = (): void => controller.abort(caller?.reason)
  const stall = (): void => {
    isStalled = true
    controller.abort(new Error(`nothing arrived for ${timeout} ms`))
  }
  // After the process was blocked (by a debugger or long work), timers fire before data that has arrived meanwhile is read.
  const timer = setTimeout(() => (round = setImmediate(stall)), Math.min(timeout, longestTimer))
  if (caller?.aborted) abort()
  else caller?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    alive: () => {
      // `refresh` would restart a timer that has already fired.
      if (controller.signal.aborted) return
      clearImmediate(round)
      timer.refresh()
    },
    isStalled: () => isStalled,
    end: () => {
      clearTimeout(timer)
      clearImmediate(round)
      caller?.removeEventListener('abort', abort)
      controller.abort(over)
    },
  }
}

/** Calls `told` whenever bytes of the response arrive. Pings count as well, although the SDK does not report them. */
export const hear = (response: Response | undefined, told: () => void): void => {
  const body = response?.body
  if (!body || body.locked) return
  const tap = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      told()
      controller.enqueue(chunk)
    },
  })
  Object.defineProperty(response, 'body', { value: body.pipeThrough(tap), configurable: true })
}
