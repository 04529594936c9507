/** Returns the name of a thrown value for a span, or `Error` if the value is no `Error` or reading its name throws. */
export const errorName = (error: unknown): string => {
  try {
    const name: unknown = error instanceof Error && error.name
    return typeof name === 'string' ? name : 'Error'
  } catch {
    return 'Error'
  }
}
