/** Returns a function that makes a value at first use; `made` returns it if it has been made. */
export const lazily = <T>(make: () => T): (() => T) & { readonly made: () => T | undefined } => {
  let made: T | undefined
  return Object.assign(() => (made ??= make()), { made: () => made })
}
