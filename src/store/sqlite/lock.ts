import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { StoreError } from '../errors.ts'

/**
 * Repeats work that needs the write lock until other writers have released the lock, without blocking the process.
 *
 * @param timeout time in milliseconds, independent of the wall clock, after which the result is `StoreBusy`
 */
export const onceFree = async <A>(
  timeout: number,
  attempt: () => E.Either<StoreError, A>,
): Promise<E.Either<StoreError, A>> => {
  const deadline = performance.now() + timeout
  for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
    const tried = attempt()
    if (E.isRight(tried) || tried.left._tag !== 'StoreBusy' || performance.now() > deadline) return tried
    await sleep(Math.random() * pause)
  }
}
