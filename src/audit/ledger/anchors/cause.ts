/**
 * Returns the reason for a failed request: the message of the error's cause if it has one, as errors of `fetch` do, otherwise of the
 * error itself.
 */
export const causeOf = (error: unknown): string => {
  const { cause = error } = Object(error) as { readonly cause?: unknown }
  return cause instanceof Error ? cause.message : String(cause)
}
