/** Returns a function that computes a value at its first call and returns the same value at every later one. */
export const once = <A>(compute: () => A): (() => A) => {
  let known: { readonly value: A } | undefined
  return () => (known ??= { value: compute() }).value
}
