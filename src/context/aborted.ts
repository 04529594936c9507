import type { ModelAborted } from './model.ts'

/** Rejects with the signal's reason once it aborts, for those who must not wait for what ignores the signal. */
export const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => reject(signal.reason as Error)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })

export const abortedBy = (signal: AbortSignal): ModelAborted => ({
  _tag: 'ModelAborted',
  message: 'aborted: what was complete is recorded, and the next turn goes on from there',
  cause: signal.reason,
})
