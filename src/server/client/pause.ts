/** Resolves after `ms` milliseconds, or when the signal aborts. The wait is limited to 24 days, as a longer timer would fire at once. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1))
    function end(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
  })
