/** Where an import keeps what it has read until it is written: a session may not fit in memory. */
export interface Shelf {
  /** Stores a JSON value; returns the place from which to get it. */
  readonly put: (value: unknown) => number
  readonly get: (place: number) => unknown
  /** As `put`, of a text, without making JSON of it. Lone surrogates are lost. */
  readonly putText: (text: string) => number
  readonly getText: (place: number) => string
}

/** Keeps the values in memory. */
export const memoryShelf = (): Shelf => {
  const values: unknown[] = []
  const put = (value: unknown): number => values.push(value) - 1
  return { put, get: (place) => values[place], putText: put, getText: (place) => String(values[place]) }
}

/** Values in order, not necessarily in memory. An array is one. */
export interface LazyList<A> extends Iterable<A> {
  readonly length: number
  readonly at: (index: number) => A | undefined
  readonly slice: (start: number) => LazyList<A>
}

/** A list of values on a shelf, by their places. */
export const listOn = <A>(places: readonly number[], read: (place: number) => A): LazyList<A> => ({
  length: places.length,
  at: (index) => {
    const place = places.at(index)
    return place === undefined ? undefined : read(place)
  },
  slice: (start) => listOn(places.slice(start), read),
  *[Symbol.iterator]() {
    for (const place of places) yield read(place)
  },
})
