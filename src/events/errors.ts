/** The value given is not what it must be; `path` says where in it. Nothing was written. */
export interface InvalidInput {
  readonly _tag: 'InvalidInput'
  readonly message: string
  readonly path: string
}

/**
 * What would be stored is larger than an event (16 MiB of JSON, without content stored outside it) or an append of this store may be, or
 * an event's JSON is longer than a string can be. Nothing was written.
 */
export interface EventTooLarge {
  readonly _tag: 'EventTooLarge'
  readonly message: string
  /** Infinity where it could not be measured. */
  readonly bytes: number
  readonly limit: number
}

/** A stored record that this version cannot read as an event. Readers stop at it; it is never skipped. */
export interface DecodeFailed {
  readonly _tag: 'DecodeFailed'
  readonly message: string
  readonly stream: string
  readonly revision: number
}

export const invalidInput = (path: string, problem: string): InvalidInput => ({
  _tag: 'InvalidInput',
  message: path === '' ? problem : `${path}: ${problem}`,
  path,
})

/** @param what what is too large for what, as a sentence without its end */
export const eventTooLarge = (what: string, bytes: number, limit: number): EventTooLarge => ({
  _tag: 'EventTooLarge',
  message: `${what}. Split the message, or store the large part elsewhere and refer to it`,
  bytes,
  limit,
})
