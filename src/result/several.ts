/**
 * Yields the results of work on each item, in the order of the items, while up to `atOnce` are worked on concurrently: for stores that
 * may be far away. The first failure is thrown when its turn comes; work in progress then, or when the iteration is left, ends by
 * itself.
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
