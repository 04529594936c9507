import type { StoreError } from '../errors.ts'

// Status codes of gRPC (https://grpc.io/docs/guides/status-codes).
const cancelled = 1
const invalidArgument = 3
const deadlineExceeded = 4
const permissionDenied = 7
const unimplemented = 12
const unavailableCode = 14
const unauthenticated = 16

const fieldOf = (error: unknown, field: string): unknown =>
  typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[field] : undefined

/** Reports whether the server rejects the credentials; another attempt would not help. */
export const isDenied = (error: unknown): boolean =>
  fieldOf(error, 'code') === permissionDenied || fieldOf(error, 'code') === unauthenticated

/** Reports whether a call missed its deadline. */
const isTimeOut = (error: unknown): boolean => fieldOf(error, 'code') === deadlineExceeded

/** Reports whether the connection itself failed, rather than a call on it. */
export const isOfConnection = (error: unknown): boolean => {
  const code = fieldOf(error, 'code')
  const isByServer = code === cancelled && !/cancelled on client/i.test(reasonOf(error))
  return code === unavailableCode || isByServer || isTimeOut(error) || isEnded(error)
}

/** Reports whether an error is one with which a closed connection may fail (https://github.com/grpc/grpc-node/issues/2502). */
const isEnded = (error: unknown): boolean => /write after end/.test(reasonOf(error))

/** Returns the address of the leader if the failure is the answer of a node that is not the leader; undefined for any other failure. */
export const leaderNamedIn = (error: unknown): string | undefined => {
  if (trailerOf(error, 'exception') !== 'not-leader') return undefined
  return `${trailerOf(error, 'leader-endpoint-host')}:${trailerOf(error, 'leader-endpoint-port')}`
}

/** Returns the error of an attempt that was not answered in time; it counts as a connection failure. */
export const noAnswer = (ms: number): Error =>
  Object.assign(new Error(`no answer within ${ms} ms`), { code: unavailableCode })

const isOfCertificate = (error: unknown): boolean => /certificate/i.test(reasonOf(error))

/**
 * Returns the error for the failure to reach any of several nodes, or any address of one node. If all failures are due to certificates,
 * the error is final, because a certificate that is not trusted now will not be trusted later.
 */
export const unreachedError = (failures: readonly unknown[]): Error =>
  Object.assign(
    new Error([...new Set(failures.map(reasonOf))].join('; ')),
    failures.every(isOfCertificate) && { code: unavailableCode },
  )

/** Returns a trailer that the server sent with an error. */
export const trailerOf = (error: unknown, name: string): string | undefined => {
  const metadata = fieldOf(error, 'metadata') as
    | { readonly get?: (name: string) => readonly unknown[] }
    | undefined
  const [value] = metadata?.get?.(name) ?? []
  return typeof value === 'string' ? value : undefined
}

/** Returns the driver's description of an error, on one line. */
export const reasonOf = (error: unknown): string => {
  const text = fieldOf(error, 'details') ?? fieldOf(error, 'message')
  return String(typeof text === 'string' && text !== '' ? text : error)
    .replace(/\s+/g, ' ')
    .replace(/ ?Resolution note: ?$/, '')
}

export const unavailable = (store: string, reason: string, cause?: unknown): StoreError => ({
  _tag: 'StoreUnavailable',
  message: `${store} does not answer (${reason}): check that the server runs and the URL's host, port and tls are right; run \`palimpsest doctor\` for details`,
  store,
  cause,
})

export const storeDenied = (store: string, cause: unknown): StoreError => ({
  _tag: 'StoreDenied',
  message: `${store} refuses the credentials (${reasonOf(cause)}): name a user who may read and write, in the URL or in PALIMPSEST_ESDB_USER and PALIMPSEST_ESDB_PASSWORD`,
  store,
  cause,
})

/** Returns the error for a request that the server refuses. */
export const refusedError = (store: string, problem: string, cause?: unknown): StoreError => ({
  _tag: 'StoreUnavailable',
  message: `${store}: ${problem}`,
  store,
  cause,
})

/** Returns the error for a failure that another attempt would not fix; undefined for any other failure. */
export const finalFailure = (store: string, failure: unknown): StoreError | undefined => {
  if (isDenied(failure)) return storeDenied(store, failure)
  const code = fieldOf(failure, 'code')
  // gRPC has no code for this failure, only a text.
  if (code === unavailableCode && isOfCertificate(failure))
    return refusedError(
      store,
      `the server's certificate is not trusted (${reasonOf(failure)}): name the file of its CA with tlsCAFile in the URL, and the host as the certificate does`,
      failure,
    )
  if (code === unimplemented)
    return refusedError(
      store,
      `not an EventStoreDB of version 21.10 or newer (${reasonOf(failure)}): check host and port`,
      failure,
    )
  return code === invalidArgument ? refusedError(store, reasonOf(failure), failure) : undefined
}
