import type { EventStore } from '../../src/store/port.ts'

/** A store that counts what it is asked about one stream: on a server each question is a round trip. */
export const counting = (store: EventStore): { readonly store: EventStore; readonly asked: () => number } => {
  let asked = 0
  const counted =
    <A extends readonly unknown[], R>(ask: (...args: A) => R) =>
    (...args: A): R => {
      asked++
      return ask(...args)
    }
  const { read, find, count, keptEnd } = store
  return {
    store: {
      ...store,
      read: counted(read),
      find: counted(find),
      count: counted(count),
      keptEnd: counted(keptEnd),
    },
    asked: () => asked,
  }
}
