/** Returns the name of a thrown value for a span. It may be anything, and reading its name may throw, too. */
export const errorName = (error: unknown): string => {
  try {
    const name: unknown = error instanceof Error && error.name
    return typeof name === 'string' ? name : 'Error'
  } catch {
    return 'Error'
  }
}
