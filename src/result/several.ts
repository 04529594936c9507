/**
 * Does `work` on each item and yields the results in the order of the items. Works on up to `atOnce` items concurrently, because
 * requests to a remote store are slow. Throws the first failure when the failed item's turn comes. Work in progress at that moment,
 * or when the iteration is abandoned, runs to its end.
 */
export async function* several<A, B>(
  things: Iterable<A> | AsyncIterable<A>,
  atOnce: number,
  work: (thing: A) => Promise<B>,
): AsyncGenerator<B, void> {
  const under: Promise<B>[] = []
  for await (const thing of things) {
    const working = work(thing)
    // Prevents an unhandled rejection; the error is thrown where the promise is awaited.
    working.catch(() => undefined)
    under.push(working)
    const oldest = under.length < atOnce ? undefined : under.shift()
    if (oldest) yield await oldest
  }
  for (const left of under) yield await left
}
