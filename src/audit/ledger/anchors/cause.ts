/** Why there is no answer: of an error of `fetch`, what it hides. */
export const causeOf = (error: unknown): string => {
  const { cause = error } = Object(error) as { readonly cause?: unknown }
  return cause instanceof Error ? cause.message : String(cause)
}
