/** Describes why there is no answer; for an error of `fetch`, by its cause. */
export const causeOf = (error: unknown): string => {
  const { cause = error } = Object(error) as { readonly cause?: unknown }
  return cause instanceof Error ? cause.message : String(cause)
}
