/** The result of one check of a store. */
export interface DiagnosisFinding {
  /** Subject of the check: `connection`, `append limit`, … */
  readonly check: string
  /** Result of the check. `problem`: something does not work, or loses data; `warning`: it works, but needs attention. */
  readonly status: 'ok' | 'warning' | 'problem'
  /** Result of the check in words and, unless the status is `ok`, a remedy. */
  readonly message: string
}

export const findingOf = (
  check: string,
  status: DiagnosisFinding['status'],
  message: string,
): DiagnosisFinding => ({
  check,
  status,
  message,
})

/** Number of timed runs. */
const samples = 20

export interface RoundTrips {
  /** Median time of a run, in milliseconds. */
  readonly median: number
  readonly worst: number
}

/** Runs an operation `samples` times in sequence and returns the median and worst times. */
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
  `median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms of ${samples} tries`

/** Formats a number of bytes in a readable unit. */
export const bytesText = (bytes: number): string => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB']
  let unit = 0
  let value = bytes
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
