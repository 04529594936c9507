import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'

/** How often is written again while others write to the same stream. */
const maxTries = 100

/** Writes at a stream's end, and again, after a short random wait, while others write there first. */
export const despiteConflicts = async <F extends { readonly _tag: string }, A>(
  write: () => Promise<E.Either<F, A>>,
): Promise<E.Either<F, A>> => {
  for (let tries = 1; ; tries++) {
    const written = await write()
    if (E.isRight(written) || written.left._tag !== 'Conflict' || tries === maxTries) return written
    await sleep(Math.random() * Math.min(2 ** tries, 30))
  }
}
