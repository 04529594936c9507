interface Turn {
  result?: Promise<unknown>
}

/** @param done to be called when the work ends, however it does: nothing waits for the work only to tidy up after it */
type Work<A> = (done: () => void) => Promise<A>

/** Does work under a name in the order in which it was given, one after another. Work that fails holds up none after it. */
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
