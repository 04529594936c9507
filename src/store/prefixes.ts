/** Reports whether a stream's name begins with one of the prefixes. */
export const beginsWithOne = (stream: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => stream.startsWith(prefix))
