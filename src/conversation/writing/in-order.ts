interface Turn {
  result?: Promise<unknown>
}

/**
 * A piece of asynchronous work.
 *
 * @param done callback to be called when the work ends, even on failure; a callback, so that no function has to wait for the work only
 * to clean up after it
 */
type Work<A> = (done: () => void) => Promise<A>

/**
 * Returns a function that runs work under the same name sequentially, in the order given. If one piece of work fails, later work still
 * runs.
 */
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
