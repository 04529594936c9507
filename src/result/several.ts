/**
 * The outcomes of work on each of these, in their order, although so many are worked on at once: for stores that may be far away. The first
 * failure is thrown when its turn comes; what is under way then, or when the iteration is left, ends by itself.
 */
export async function* several<A, B>(
  things: Iterable<A> | AsyncIterable<A>,
  atOnce: number,
  work: (thing: A) => Promise<B>,
): AsyncGenerator<B, void> {
  const under: Promise<B>[] = []
  for await (const thing of things) {
    const working = work(thing)
    // Whoever waits for it is told; nobody does yet.
    working.catch(() => undefined)
    under.push(working)
    const oldest = under.length < atOnce ? undefined : under.shift()
    if (oldest) yield await oldest
  }
  for (const left of under) yield await left
}
