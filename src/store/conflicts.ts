import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { run, type Fallible } from '../result/fallible.ts'

/** Maximum number of attempts of an append, unless the caller sets another. */
const maxTries = 100
/** Maximum wait between two attempts, in milliseconds. */
const longest = 30

/**
 * Decides whether a failed append is tried again: only after a `Conflict`, and only up to `most` attempts. Before a new attempt, it
 * waits for a short random time.
 *
 * @param tries number of attempts so far; 0 if the failed attempt used remembered state, in which case the new attempt does not wait
 */
export const isTriedAgain = async (
  { _tag }: { readonly _tag: string },
  tries: number,
  most = maxTries,
): Promise<boolean> => {
  if (_tag !== 'Conflict' || tries >= most) return false
  if (tries > 0) await sleep(Math.random() * Math.min(2 ** tries, longest))
  return true
}

/**
 * Runs an append at the end of a stream, repeating it from the stream's new state while other writers append first. Returns the last
 * error if every attempt fails.
 */
export async function* despiteConflicts<F extends { readonly _tag: string }, A>(
  attempt: () => Fallible<F, A>,
  most?: number,
): Fallible<F, A> {
  for (let tries = 1; ; tries++) {
    const done = await run(attempt())
    if (E.isRight(done)) return done.right
    if (!(await isTriedAgain(done.left, tries, most))) return yield done.left
  }
}
