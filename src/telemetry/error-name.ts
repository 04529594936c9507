/** What a span says of something that was thrown: it may be anything, and asking for its name may throw as well. */
export const errorName = (error: unknown): string => {
  try {
    return error instanceof Error ? String(error.name) : 'Error'
  } catch {
    return 'Error'
  }
}
