import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { orThrow } from './fallible.ts'
import type { TypedError } from './typed-error.ts'

/** The names of the methods that return a TaskEither and may fail with `Err`. */
type TaskNames<T, Err> = {
  [K in keyof T]: T[K] extends (...args: never) => TaskEither<infer Own, unknown>
    ? [Err] extends [Own]
      ? K
      : never
    : never
}[keyof T]
/** The names of the methods that return an async iterable. */
type ItemsNames<T> = {
  [K in keyof T]: T[K] extends (...args: never) => AsyncIterable<unknown> ? K : never
}[keyof T]

/**
 * Returns methods of an object that is loaded when one of them is called. If the object cannot be loaded, the method fails with the
 * loading error.
 *
 * @param load called each time a method is called
 */
export const lazily = <
  Err extends TypedError,
  T extends object,
  Tasks extends TaskNames<T, Err>,
  Items extends ItemsNames<T> = never,
>(
  load: TaskEither<Err, T>,
  tasks: readonly Tasks[],
  items: readonly Items[] = [],
): Pick<T, Tasks | Items> => {
  const methods: Partial<Record<keyof T, unknown>> = {}
  const call = (loaded: T, name: keyof T, args: readonly unknown[]): unknown => {
    const method: unknown = loaded[name]
    return Reflect.apply(method as (...args: readonly unknown[]) => unknown, loaded, args)
  }
  for (const name of tasks)
    methods[name] =
      (...args: readonly unknown[]): TaskEither<unknown, unknown> =>
      async () => {
        const loaded = await load()
        return E.isLeft(loaded) ? loaded : (call(loaded.right, name, args) as TaskEither<unknown, unknown>)()
      }
  for (const name of items)
    methods[name] = async function* (...args: readonly unknown[]): AsyncGenerator<unknown, void> {
      yield* call(await orThrow(load), name, args) as AsyncIterable<unknown>
    }
  return methods as Pick<T, Tasks | Items>
}
