import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { run, type Steps } from '../result/steps.ts'

/** Most tries of an append, unless its caller says otherwise. */
const maxTries = 100
/** The longest wait between two tries, in milliseconds. */
const longest = 30

/**
 * Decides whether what failed is tried again: only a `Conflict` is, and only so often. Waits before, for a short random time.
 *
 * @param tries how often it was tried so far; 0 if that was on what was remembered: then nothing is waited for
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

/** Appends at the end of a stream, and again, from what is there then, while others write there first. The last error is returned. */
export async function* despiteConflicts<F extends { readonly _tag: string }, A>(
  attempt: () => Steps<F, A>,
  most?: number,
): Steps<F, A> {
  for (let tries = 1; ; tries++) {
    const done = await run(attempt())
    if (E.isRight(done)) return done.right
    if (!(await isTriedAgain(done.left, tries, most))) return yield done.left
  }
}
