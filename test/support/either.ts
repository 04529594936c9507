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
