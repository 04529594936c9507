import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { unknownField } from '../events/nearest.ts'

// Options of readers are checked by hand: the first use of zod in a process takes longer than loading an effective history.

/** Test for an option's value, with a description of valid values for messages. */
interface Kind {
  readonly is: (value: unknown) => boolean
  readonly needed: string
}

const kind = (is: Kind['is'], needed: string): Kind => ({ is, needed })
const isText = (value: unknown): boolean => typeof value === 'string'

/** Test for the value of each option. */
export type OptionKinds<O> = { readonly [K in keyof O]-?: Kind }

export const kinds = {
  /** Any number; the conversation checks whether the position exists. */
  position: kind((value) => typeof value === 'number', 'must be a position (a number)'),
  first: kind(
    (value) => Number.isInteger(value) && Number(value) >= 0,
    'must be the first position, 0 or more',
  ),
  last: kind(
    (value) => typeof value === 'number' && (Number.isInteger(value) || value === Infinity),
    'must be the last position, a whole number',
  ),
  count: kind((value) => Number.isInteger(value) && Number(value) >= 0, 'must be a whole number, 0 or more'),
  several: kind(
    (value) => Number.isInteger(value) && Number(value) >= 1,
    'must be a whole number, 1 or more',
  ),
  flag: kind((value) => typeof value === 'boolean', 'must be true or false'),
  text: kind(isText, 'must be a string'),
  number: kind((value) => typeof value === 'number', 'must be a number'),
  texts: kind((value) => isListOf(value, isText), 'must be a list of strings'),
  call: kind((value) => typeof value === 'function', 'must be a function'),
  signal: kind((value) => value instanceof AbortSignal, 'must be an AbortSignal'),
  anything: kind(() => true, ''),
} satisfies Readonly<Record<string, Kind>>

/** Returns a test for an option whose value must be one of the given ones. */
export const oneOf = (values: readonly (string | boolean)[]): Kind =>
  kind((value) => values.some((each) => each === value), `must be one of ${values.join(', ')}`)

/**
 * Reports whether a value is a list whose elements all pass a test. Stops at the first element that fails, because a sparse array may
 * have four billion elements.
 */
export const isListOf = (list: unknown, is: (value: unknown) => boolean): boolean => {
  if (!Array.isArray(list)) return false
  for (let index = 0; index < list.length; index++) if (!is(list[index])) return false
  return true
}

/**
 * Copies an object's fields, so that later changes to the object do not affect work that has not begun yet. Returns any other value
 * unchanged.
 */
export const asNow = <O>(options: O): O =>
  typeof options === 'object' && options !== null && !Array.isArray(options) ? { ...options } : options

/**
 * Returns the error for the first option with an unknown name; undefined if all names are known. Ignores options that are undefined.
 */
export const unknownOption = (options: object, known: readonly string[]): InvalidInput | undefined => {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !known.includes(name)) return invalidInput(name, unknownField(name, known))
  return undefined
}

/**
 * Checks each option and returns a copy of the options. Errors: `InvalidInput` for an invalid value or an unknown name; its path names
 * the option.
 *
 * @param options undefined for no options
 */
export const checkOptions = <O extends object>(
  options: O | undefined,
  fields: OptionKinds<O>,
): E.Either<InvalidInput, Partial<O>> => {
  if (options === undefined) return E.right({})
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    return E.left(invalidInput('options', `must be an object with ${Object.keys(fields).join(', ')}`))
  const unknown = unknownOption(options, Object.keys(fields))
  if (unknown) return E.left(unknown)
  const checked: Partial<O> = {}
  for (const name in fields) {
    const value = options[name]
    if (value === undefined) continue
    if (!fields[name].is(value)) return E.left(invalidInput(name, fields[name].needed))
    checked[name] = value
  }
  return E.right(checked)
}
