/** What a span says of something that was thrown: it may be anything, and asking for its name may throw as well. */
export const errorName = (error: unknown): string => {
  try {
    const name: unknown = error instanceof Error && error.name
    return typeof name === 'string' ? name : 'Error'
  } catch {
    return 'Error'
  }
}
