/**
 * Returns the reason for a failed request: the message of the error's cause, which `fetch` sets, or the error's own message if it has
 * no cause.
 */
export const causeOf = (error: unknown): string => {
  const { cause = error } = Object(error) as { readonly cause?: unknown }
  return cause instanceof Error ? cause.message : String(cause)
}
