/**
 * Yields the results of work on each item, in the order of the items. Up to `atOnce` items are worked on concurrently, because a store
 * may be far away. The first failure is thrown when the failed item's turn comes. Work still in progress at that moment, or when the
 * iteration is left, ends by itself.
 */
export async function* several<A, B>(
  things: Iterable<A> | AsyncIterable<A>,
  atOnce: number,
  work: (thing: A) => Promise<B>,
): AsyncGenerator<B, void> {
  const under: Promise<B>[] = []
  for await (const thing of things) {
    const working = work(thing)
    // Those who wait for it are told; nobody does yet.
    working.catch(() => undefined)
    under.push(working)
    const oldest = under.length < atOnce ? undefined : under.shift()
    if (oldest) yield await oldest
  }
  for (const left of under) yield await left
}
