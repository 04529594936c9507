/** True if a stream's name begins with one of these prefixes. */
export const beginsWithOne = (stream: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => stream.startsWith(prefix))
