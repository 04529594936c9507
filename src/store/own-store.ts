import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { blobChunk, type BlobStore, type EventLog, type StoreAdapter } from './port.ts'

const methods = [
  'append',
  'read',
  'readAll',
  'follow',
  'close',
] as const satisfies readonly (keyof EventLog)[]
const optional = [
  'find',
  'count',
  'keptEnd',
  'streams',
  'newest',
  'neverBegun',
  'changed',
  'integrity',
  'backup',
  'scrub',
  'rewrite',
] as const satisfies readonly (keyof StoreAdapter)[]
const blobMethods = ['put', 'get', 'list', 'remove'] as const satisfies readonly (keyof BlobStore)[]

/** Minimum `maxAppendBytes` of a store that keeps blobs in its streams: enough for an event with one chunk in base64. */
const leastForBlobs = 2 * blobChunk

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/**
 * Returns a custom store as a plain object. Errors: `InvalidInput` if a required member is missing or any member is invalid; the
 * error's path names the member.
 */
export const ownStore = (store: StoreAdapter): E.Either<InvalidInput, StoreAdapter> => {
  const lack = lackIn(store)
  return lack ? E.left(lack) : E.right(plainAdapter(store))
}

/** Returns an adapter as a plain object with its methods bound to it, because the adapter may be an instance of a class. */
export const plainAdapter = (store: StoreAdapter): StoreAdapter => {
  const { url, blobs, maxAppendBytes, liveness } = store
  const bound = [...methods, ...optional].flatMap((name) => {
    const method = store[name]
    return method ? [[name, method.bind(store)] as const] : []
  })
  return {
    ...(Object.fromEntries(bound) as Pick<StoreAdapter, (typeof methods)[number]>),
    url,
    ...(blobs && { blobs }),
    ...(maxAppendBytes !== undefined && { maxAppendBytes }),
    ...(liveness && { liveness }),
  }
}

const lackIn = (store: unknown): InvalidInput | undefined => {
  if (!isObject(store))
    return invalidInput('store', 'must be a URL, or an object with the methods of a StoreAdapter')
  const missing = methods.find((name) => typeof store[name] !== 'function')
  if (missing) return invalidInput(`store.${missing}`, 'must be a method: every StoreAdapter has it')
  const misshapen = optional.find((name) => !['function', 'undefined'].includes(typeof store[name]))
  if (misshapen) return invalidInput(`store.${misshapen}`, 'must be a method, or omitted')
  const { blobs, url, maxAppendBytes = Infinity } = store
  if (typeof url !== 'string')
    return invalidInput(
      'store.url',
      "must be the store's URL without credentials, because error messages show it",
    )
  if (typeof maxAppendBytes !== 'number')
    return invalidInput('store.maxAppendBytes', 'must be a number of bytes, or Infinity')
  if (blobs === undefined)
    return maxAppendBytes >= leastForBlobs
      ? undefined
      : invalidInput(
          'store.maxAppendBytes',
          `must be at least ${leastForBlobs} in a store that does not provide blobs`,
        )
  const blobMethod = blobMethods.find((name) => !isObject(blobs) || typeof blobs[name] !== 'function')
  if (blobMethod) return invalidInput(`store.blobs.${blobMethod}`, 'must be a method: every BlobStore has it')
  return ['function', 'undefined'].includes(typeof Reflect.get(Object(blobs), 'info'))
    ? undefined
    : invalidInput('store.blobs.info', 'must be a method, or omitted')
}
