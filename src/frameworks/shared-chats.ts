import { isLeft } from 'fp-ts/lib/Either.js'
import { isError } from '../api/errors.ts'
import { invalidInput } from '../events/errors.ts'
import { copyJson, isFields } from '../events/json.ts'
import { toError } from '../result/typed-error.ts'

// Frameworks pass any values, and several of their processes write to one chat.

const mostAttempts = 100

/** Runs an attempt, and up to 99 times again while it fails with this error because another process wrote in the meantime. */
export const untilCurrent = async <A>(
  tag: 'Conflict' | 'StaleContext',
  attempt: () => Promise<A>,
  beforeNext?: () => unknown,
): Promise<A> => {
  for (let count = 1; ; count += 1)
    try {
      return await attempt()
    } catch (error) {
      if (count === mostAttempts || !isError(error, tag)) throw error
      await beforeNext?.()
    }
}

/** Returns a copy of a value that is JSON. Throws `InvalidInput` for any other, with the path in the argument of this name. */
export const jsonOf = <A>(value: A, name: string): A => {
  const copied = copyJson({ [name]: value })
  if (isLeft(copied)) throw toError(invalidInput(copied.left.path, copied.left.problem))
  return (copied.right as Record<string, A>)[name] as A
}

/** Throws `InvalidInput` for anything but a list of objects. */
export const checkObjects = (value: unknown, name: string): void => {
  if (!Array.isArray(value) || !value.every(isFields))
    throw toError(invalidInput(name, 'must be a list of objects'))
}

/** Returns a copy of a list of objects that are JSON. Throws `InvalidInput` for anything else. */
export const jsonListOf = <A>(value: readonly A[], name: string): readonly A[] => {
  checkObjects(value, name)
  return jsonOf(value, name)
}
