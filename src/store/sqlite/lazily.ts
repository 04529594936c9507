/**
 * Returns a function that makes a value on its first call. The method `made` returns the value if it has been made, otherwise
 * undefined.
 */
export const lazily = <T>(make: () => T): (() => T) & { readonly made: () => T | undefined } => {
  let made: T | undefined
  return Object.assign(() => (made ??= make()), { made: () => made })
}
