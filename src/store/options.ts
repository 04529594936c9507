import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { unknownField } from '../events/nearest.ts'

// Options of readers are checked by hand: the first use of zod in a process takes longer than loading an effective history.

/** What an option must be. */
interface Kind {
  readonly is: (value: unknown) => boolean
  readonly needed: string
}

const kind = (is: Kind['is'], needed: string): Kind => ({ is, needed })
const isText = (value: unknown): boolean => typeof value === 'string'

/** The kind of each option. */
export type OptionKinds<O> = { readonly [K in keyof O]-?: Kind }

/** The kinds of options. */
export const kinds = {
  /** The conversation checks whether the position exists. */
  position: kind((value) => typeof value === 'number', 'is a position, a number'),
  first: kind((value) => Number.isInteger(value) && Number(value) >= 0, 'is the first position, 0 or more'),
  last: kind(
    (value) => typeof value === 'number' && (Number.isInteger(value) || value === Infinity),
    'is the last position, a whole number',
  ),
  count: kind((value) => Number.isInteger(value) && Number(value) >= 0, 'is a whole number, 0 or more'),
  several: kind((value) => Number.isInteger(value) && Number(value) >= 1, 'is a whole number, 1 or more'),
  flag: kind((value) => typeof value === 'boolean', 'is true or false'),
  text: kind(isText, 'is a text'),
  number: kind((value) => typeof value === 'number', 'is a number'),
  texts: kind((value) => isListOf(value, isText), 'is a list of texts'),
  call: kind((value) => typeof value === 'function', 'is a function'),
  signal: kind((value) => value instanceof AbortSignal, 'is an AbortSignal'),
  anything: kind(() => true, ''),
} satisfies Readonly<Record<string, Kind>>

/** An option that is one of these texts. */
export const oneOf = (names: readonly string[]): Kind =>
  kind((value) => typeof value === 'string' && names.includes(value), `is one of ${names.join(', ')}`)

/** Whether this is a list of such values. Stops at the first other value: a sparse array may be four thousand million long. */
export const isListOf = (list: unknown, is: (value: unknown) => boolean): boolean => {
  if (!Array.isArray(list)) return false
  for (let index = 0; index < list.length; index++) if (!is(list[index])) return false
  return true
}

/** A copy of an object's fields, for work that begins later. Anything else is returned as it is. */
export const asNow = <O>(options: O): O =>
  typeof options === 'object' && options !== null && !Array.isArray(options) ? { ...options } : options

/** The error for an option with an unknown name; options that are undefined are ignored. */
export const unknownOption = (options: object, known: readonly string[]): InvalidInput | undefined => {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !known.includes(name)) return invalidInput(name, unknownField(name, known))
  return undefined
}

/**
 * A copy of the options, each checked. Errors: `InvalidInput`, whose path names the option, also if its name is unknown.
 *
 * @param options undefined for none
 */
export const checkedOptions = <O extends object>(
  options: O | undefined,
  fields: OptionKinds<O>,
): E.Either<InvalidInput, Partial<O>> => {
  if (options === undefined) return E.right({})
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    return E.left(invalidInput('options', 'must be an object, like { at: 4 }'))
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
