/** Formats US dollars with four decimals, as single calls cost cents. */
export const usdText = (usd: number): string => usd.toFixed(4)

/** Formats seconds in their largest unit. */
export const durationText = (seconds: number): string => {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`
}
