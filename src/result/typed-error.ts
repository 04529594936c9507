/** Common shape of all errors of this library: plain objects with a tag, a message that suggests what to do next, and data. */
export interface TypedError {
  readonly _tag: string
  readonly message: string
}

/** Converts a typed error to the form that JavaScript throws: an `Error` with the `_tag` and the data of the plain object. */
export const toError = <E extends TypedError>(error: E): Error & E =>
  Object.assign(new Error(error.message), error, { name: error._tag })

/** Reports whether a thrown value was made by `toError`. */
export const isTyped = (error: unknown): error is Error & TypedError =>
  error instanceof Error && '_tag' in error && error._tag === error.name
