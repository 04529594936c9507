import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { type WorkerMethods, mapServed } from '../agent/workers/create-worker.ts'
import type { FullReader } from '../conversation/reading/conversation-reader.ts'
import { toError, type TypedError } from '../result/typed-error.ts'
import type { ConversationMethods, TaskConversation } from './conversation.ts'
import type { StoreOf, TaskStore } from './store.ts'

// The edge between the library, which returns TaskEithers, and programs that use await: the same methods as promises that reject with
// the typed errors.

/** A conversation whose methods return promises. */
export interface Conversation extends ConversationMethods<'promise', Conversation> {}

/** A store whose methods return promises. */
export interface Store extends StoreOf<'promise', Conversation> {}

/** A worker whose methods return promises. */
export interface Worker extends WorkerMethods<'promise'> {}

/** Runs a TaskEither as a promise; a left becomes a rejection with an `Error` that has the same `_tag` and data. */
export const toPromise = <A>(task: TaskEither<TypedError, A>): Promise<A> =>
  task().then((result) => {
    if (E.isLeft(result)) throw toError(result.left)
    return result.right
  })

/** The methods of `T`, returning promises instead of TaskEithers. */
type Promised<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => TaskEither<unknown, infer B>
    ? (...args: A) => Promise<B>
    : T[K]
}

type AnyMethod = (...args: readonly unknown[]) => unknown

/**
 * Wraps a method so that it returns a promise instead of a TaskEither. If reading an argument throws, the promise rejects. Async
 * iterables are returned unchanged.
 */
const promisedMethod =
  (method: AnyMethod): AnyMethod =>
  (...args) => {
    try {
      const answer = method(...args)
      return typeof answer === 'function' ? toPromise(answer as TaskEither<TypedError, unknown>) : answer
    } catch (error) {
      return Promise.reject(error)
    }
  }

/**
 * Wraps all methods of an object so that they return promises instead of TaskEithers. Uses a plain loop for speed, because it runs for
 * every handle.
 */
const promised = <T extends object>(methods: T): Promised<T> => {
  const made: Record<string, unknown> = {}
  for (const name in methods) {
    const method: unknown = methods[name]
    made[name] = typeof method === 'function' ? promisedMethod(method as AnyMethod) : method
  }
  return made as Promised<T>
}

const promiseConversation = (chat: TaskConversation): Conversation => {
  const methods = promised(chat)
  return {
    ...methods,
    full: methods.full as FullReader<'promise'>,
    fork: async (...args) => promiseConversation(await methods.fork(...args)),
  }
}

export const promiseStore = (store: TaskStore): Store => ({
  ...promised(store),
  conversation: (id) => promiseConversation(store.conversation(id)),
  worker: (options) => promised(store.worker(mapServed(options, promiseConversation))),
  catalogue: promised(store.catalogue),
  audit: promised(store.audit),
  retention: promised(store.retention),
})
