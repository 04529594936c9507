/** Storage for values that an import has read but not yet written, because a session may not fit in memory. */
export interface Shelf {
  /** Stores a JSON value and returns its place, which `get` takes. */
  readonly put: (value: unknown) => number
  readonly get: (place: number) => unknown
  /** Like `put`, for a text, without encoding it as JSON. Lone surrogates are lost. */
  readonly putText: (text: string) => number
  readonly getText: (place: number) => string
}

export const memoryShelf = (): Shelf => {
  const values: unknown[] = []
  const put = (value: unknown): number => values.push(value) - 1
  return { put, get: (place) => values[place], putText: put, getText: (place) => String(values[place]) }
}

/** A list of values that need not be in memory. Arrays are lazy lists too. */
export interface LazyList<A> extends Iterable<A> {
  /** Places of the values on a shelf; absent if they are elsewhere. A value at a place never changes. */
  readonly places?: readonly number[]
  readonly length: number
  readonly at: (index: number) => A | undefined
  readonly slice: (start: number, end?: number) => LazyList<A>
}

/** Returns a lazy list of the values at these places on a shelf. */
export const listOn = <A>(places: readonly number[], read: (place: number) => A): LazyList<A> => ({
  places,
  length: places.length,
  at: (index) => {
    const place = places.at(index)
    return place === undefined ? undefined : read(place)
  },
  slice: (start, end) => listOn(places.slice(start, end), read),
  *[Symbol.iterator]() {
    for (const place of places) yield read(place)
  },
})
