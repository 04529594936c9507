/** A list of distinct names, newest first, that grows at both ends. */
export interface NewestFirst {
  readonly has: (name: string) => boolean
  /** Adds a name at the front; a name in the list stays where it is. */
  readonly newer: (name: string) => void
  /** Adds a name at the end; a name in the list stays where it is. */
  readonly older: (name: string) => void
  /** Returns the name after this one; for undefined, the first. */
  readonly after: (name: string | undefined) => string | undefined
  readonly all: () => readonly string[]
}

export const newestFirst = (): NewestFirst => {
  /** Places of names; larger is newer: 0 and up in `above`, -1 and down in `below`. */
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
