/** Formats an amount in US dollars with four decimals, as a single call may cost less than a cent, or with as many as given. */
export const usdText = (usd: number, decimals = 4): string => usd.toFixed(decimals)

/** Formats a duration in seconds in the largest unit: `12 s`, `3 min`, `5 h`, `2 d`. */
export const durationText = (seconds: number): string => {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`
}
