import * as E from 'fp-ts/lib/Either.js'
import { invalidInput } from '../events/errors.ts'
import { toError } from '../result/typed-error.ts'
import { checkOptions, type OptionKinds } from './options.ts'

// Programs in JavaScript, and options that frameworks pass on, are checked where they arrive, not where they first fail.

/** Throws `InvalidInput` if a value is not a store with the methods that are needed. */
export const checkStore = (store: unknown, needed: readonly string[] = ['conversation']): void =>
  checkMethods('store', store, needed, 'a store: pass the one that openStore resolves to')

/**
 * Throws `InvalidInput` if an argument lacks a method.
 *
 * @param expected description of the argument, for the message
 */
export const checkMethods = (
  name: string,
  value: unknown,
  needed: readonly string[],
  expected: string,
): void => {
  const methodOf = (method: string): unknown => Reflect.get(Object(value), method)
  if (needed.every((method) => typeof methodOf(method) === 'function')) return
  const problem =
    typeof methodOf('then') === 'function' ? 'is a promise: await it first' : `must be ${expected}`
  throw toError(invalidInput(name, problem))
}

/** Checks options as `checkOptions` does, and throws its error. */
export const checkedOptions = <O extends object>(
  options: O | undefined,
  fields: OptionKinds<O>,
): Partial<O> => {
  const checked = checkOptions(options, fields)
  if (E.isLeft(checked)) throw toError(checked.left)
  return checked.right
}
