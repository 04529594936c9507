import { expect } from 'vitest'
import * as E from 'fp-ts/lib/Either.js'

/** The answer, or a failure that shows the error. */
export const right = <A>(either: E.Either<unknown, A>): A => {
  if (E.isLeft(either)) throw new Error(`expected an answer, got ${JSON.stringify(either.left)}`)
  return either.right
}

/** The error, or a failure that shows the answer. */
export const left = <Err>(either: E.Either<Err, unknown>): Err => {
  if (E.isRight(either)) throw new Error(`expected an error, got ${JSON.stringify(either.right)}`)
  return either.left
}

/** The error of what must fail: looked at where it is begun, it may fail at any time. */
export const failure = (promise: Promise<unknown>): Promise<Readonly<Record<string, unknown>>> =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error as Readonly<Record<string, unknown>>,
  )
