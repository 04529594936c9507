import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { EventStore } from './port.ts'

const methods = [
  'append',
  'read',
  'find',
  'count',
  'keptEnd',
  'streams',
  'newest',
  'changed',
  'readAll',
  'follow',
  'close',
] as const satisfies readonly (keyof EventStore)[]
const blobMethods = ['put', 'get', 'list', 'remove'] as const satisfies readonly (keyof EventStore['blobs'])[]

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** A user's own store, if it has everything that the port requires. Errors: `InvalidInput`, whose path names what is missing. */
export const ownStore = (store: EventStore): E.Either<InvalidInput, EventStore> => {
  const lack = lackIn(store)
  return lack ? E.left(lack) : E.right(store)
}

const lackIn = (store: unknown): InvalidInput | undefined => {
  if (!isObject(store))
    return invalidInput('store', 'is a URL, or an object with the methods of an EventStore')
  const method = methods.find((name) => typeof store[name] !== 'function')
  if (method) return invalidInput(`store.${method}`, needed)
  const { blobs, url, maxAppendBytes } = store
  const blobMethod = blobMethods.find((name) => !isObject(blobs) || typeof blobs[name] !== 'function')
  if (blobMethod) return invalidInput(`store.blobs.${blobMethod}`, needed)
  if (typeof url !== 'string')
    return invalidInput('store.url', 'is the URL without credentials, for messages')
  return typeof maxAppendBytes === 'number'
    ? undefined
    : invalidInput('store.maxAppendBytes', 'is a number of bytes, or Infinity')
}

const needed = 'is a method of every EventStore'
