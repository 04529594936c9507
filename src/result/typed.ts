/** What all errors of this library are: plain objects with a tag, a message that says what to do next, and data. */
export interface TypedError {
  readonly _tag: string
  readonly message: string
}

/** A typed error as JavaScript throws it: an `Error` with the `_tag` and the data of the plain one. */
export const toError = <E extends TypedError>(error: E): Error & E =>
  Object.assign(new Error(error.message), error, { name: error._tag })

/** Whether something thrown came of `toError`. */
export const isTyped = (error: unknown): error is Error & TypedError =>
  error instanceof Error && '_tag' in error && error._tag === error.name
