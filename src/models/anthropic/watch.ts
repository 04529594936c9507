/** A call that is watched: it ends with the caller's signal, and when nothing has come for too long. */
export interface Watch {
  /** What the call listens to. */
  readonly signal: AbortSignal
  /** Something has come. */
  readonly alive: () => void
  readonly isStalled: () => boolean
  /** The call is over: leaves no timer, and no listener on the caller's signal. */
  readonly end: () => void
}

/** @param timeout milliseconds */
export const watch = (caller: AbortSignal | undefined, timeout: number): Watch => {
  const controller = new AbortController()
  let isStalled = false
  const abort = (): void => controller.abort(caller?.reason)
  const timer = setTimeout(() => {
    isStalled = true
    controller.abort(new Error(`nothing came for ${timeout} ms`))
  }, timeout)
  if (caller?.aborted) abort()
  else caller?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    alive: () => {
      // A timer that has ended would begin anew.
      if (!controller.signal.aborted) timer.refresh()
    },
    isStalled: () => isStalled,
    end: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', abort)
      controller.abort()
    },
  }
}

/** Pings are signs of life too, and the SDK keeps them to itself: so every byte of the answer is told of. */
export const hear = (response: Response | undefined, told: () => void): void => {
  const body = response?.body
  if (!body || body.locked) return
  const tap = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      told()
      controller.enqueue(chunk)
    },
  })
  Object.defineProperty(response, 'body', { value: body.pipeThrough(tap) })
}
