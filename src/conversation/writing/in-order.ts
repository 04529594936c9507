interface Turn {
  result?: Promise<unknown>
}

/** @param done must be called when the work ends, even on failure: nothing waits for the work only to clean up after it */
type Work<A> = (done: () => void) => Promise<A>

/** Runs work under the same name sequentially, in the order given. A failure does not hold up later work. */
export const inOrder = (): (<A>(name: string, work: Work<A>) => Promise<A>) => {
  const newest = new Map<string, Turn>()
  return (name, work) => {
    const before = newest.get(name)
    const turn: Turn = {}
    newest.set(name, turn)
    const done = (): void => {
      if (newest.get(name) === turn) newest.delete(name)
    }
    const take = () => work(done)
    const result = before?.result ? before.result.then(take, take) : take()
    turn.result = result
    return result
  }
}
