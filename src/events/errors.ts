/** The given value is invalid; `path` locates the fault in it. Nothing was written. */
export interface InvalidInput {
  readonly _tag: 'InvalidInput'
  readonly message: string
  readonly path: string
}

/**
 * The data to store exceed the limit of an event (16 MiB of JSON, without content stored outside it) or of an append in this store, or
 * an event's JSON exceeds the maximum length of a string. Nothing was written.
 */
export interface EventTooLarge {
  readonly _tag: 'EventTooLarge'
  readonly message: string
  /** Size in bytes; Infinity if it could not be measured. */
  readonly bytes: number
  readonly limit: number
}

/** A stored record that this version cannot read as an event. Readers stop at it; it is never skipped. */
export interface DecodeFailed {
  readonly _tag: 'DecodeFailed'
  readonly message: string
  readonly stream: string
  readonly revision: number
  /** Present if a newer version of palimpsest wrote the record: it is not damaged, but this version cannot check it either. */
  readonly isNewer?: true
  /** Present if the record is sealed, and none of the keys that were given opens it: nothing is known about its content. */
  readonly isKeyMissing?: true
  /** Checkpoint of the event, if its key was found missing while reading all events; reading can continue after this checkpoint. */
  readonly checkpoint?: string | undefined
}

export const invalidInput = (path: string, problem: string): InvalidInput => ({
  _tag: 'InvalidInput',
  message: path === '' ? problem : `${path}: ${problem}`,
  path,
})

/**
 * Creates an `EventTooLarge` error.
 *
 * @param what sentence, without a full stop, that names the data and the exceeded limit
 */
export const eventTooLarge = (what: string, bytes: number, limit: number): EventTooLarge => ({
  _tag: 'EventTooLarge',
  message: `${what}. Split the message, or store the large part elsewhere and refer to it`,
  bytes,
  limit,
})
