/** The value given is not what it must be; `path` says where in it. Nothing was written. */
export interface InvalidInput {
  readonly _tag: 'InvalidInput'
  readonly message: string
  readonly path: string
}

/** An event's JSON is larger than an event may be (16 MiB). Nothing was written. */
export interface EventTooLarge {
  readonly _tag: 'EventTooLarge'
  readonly message: string
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
