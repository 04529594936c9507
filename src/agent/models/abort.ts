import type { ModelAborted } from './model.ts'

/**
 * Awaits work that may ignore its signal, and rejects with the signal's reason as soon as the signal aborts. Removes its listener from
 * the signal, which may live as long as the program.
 */
export const orAborted = async <A>(work: A | Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  if (!signal) return work
  const { promise, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(signal.reason as Error)
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Creates the abort reason for a turn that another worker will continue. An abort for this reason is not recorded as an interruption. */
export const leaveReason = (why: string): Error => Object.assign(new Error(why), { name: 'LeftToOthers' })

export const isLeftToOthers = (signal: AbortSignal | undefined): boolean =>
  signal?.reason instanceof Error && signal.reason.name === 'LeftToOthers'

export const modelAborted = (signal: AbortSignal): ModelAborted => ({
  _tag: 'ModelAborted',
  message: 'aborted: all complete content is recorded, and the next turn continues from there',
  cause: signal.reason,
})
