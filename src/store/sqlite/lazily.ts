/** Returns a function that makes a value at first use. */
export const lazily = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => (made ??= make())
}
