/** A list of distinct names, newest first, that grows at both ends. */
export interface NewestFirst {
  readonly has: (name: string) => boolean
  /** Adds a name at the front; a name already in the list keeps its place. */
  readonly newer: (name: string) => void
  /** Adds a name at the end; a name already in the list keeps its place. */
  readonly older: (name: string) => void
  /** Returns the name after the given one; for undefined, the first name. */
  readonly after: (name: string | undefined) => string | undefined
  readonly all: () => readonly string[]
}

export const newestFirst = (): NewestFirst => {
  /**
   * Places of names; a larger number means a newer name. 0 is the index of the first name in `above`; -1 is the place of the first name
   * in `below`, -2 of the second.
   */
  const places = new Map<string, number>()
  const above: string[] = []
  const below: string[] = []
  return {
    has: (name) => places.has(name),
    newer: (name) => {
      if (!places.has(name)) places.set(name, above.push(name) - 1)
    },
    older: (name) => {
      if (!places.has(name)) places.set(name, -below.push(name))
    },
    after: (name) => {
      const place = (name === undefined ? above.length : (places.get(name) ?? -Infinity)) - 1
      return place >= 0 ? above[place] : below[-1 - place]
    },
    all: () => [...above.toReversed(), ...below],
  }
}
