/** What one look at a store found. */
export interface Finding {
  /** What was looked at: `connection`, `append limit`, … */
  readonly check: string
  /** `problem`: something does not work, or loses data; `warning`: it works, and somebody should know. */
  readonly status: 'ok' | 'warning' | 'problem'
  /** What was found; unless it is `ok`, also what to do. */
  readonly message: string
}

export const finding = (check: string, status: Finding['status'], message: string): Finding => ({
  check,
  status,
  message,
})

/** How often something is timed. */
const samples = 20

export interface RoundTrips {
  /** In milliseconds. */
  readonly median: number
  readonly worst: number
}

/** Times something that is done again and again, one after the other. */
export const roundTrips = async (run: () => Promise<unknown>): Promise<RoundTrips> => {
  const times: number[] = []
  for (let n = 0; n < samples; n++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  const sorted = times.toSorted((a, b) => a - b)
  return { median: sorted[samples / 2] ?? 0, worst: sorted.at(-1) ?? 0 }
}

export const roundTripsText = ({ median, worst }: RoundTrips): string =>
  `median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms of ${samples}`

/** Bytes, in the unit that makes them short. */
export const bytesText = (bytes: number): string => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB']
  let unit = 0
  let value = bytes
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
