/** Returns the name of a thrown error for a span; `Error` if the value is not an `Error` or its name cannot be read or is not a string. */
export const errorName = (error: unknown): string => {
  try {
    const name: unknown = error instanceof Error && error.name
    return typeof name === 'string' ? name : 'Error'
  } catch {
    return 'Error'
  }
}
