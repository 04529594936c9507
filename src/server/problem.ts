import type { CallOutOfRange, UnknownRenderer } from '../agent/receipts/errors.ts'
import { toError } from '../result/typed-error.ts'
import type { EraseError, LedgerError, OriginalNotKept, ProofError, ReleaseError } from '../index.ts'
import type { NoteError, ReadError, WriteError } from '../store/errors.ts'
import type { DecisionError, WithdrawalError } from '../agent/turn/calls/decisions.ts'
import type { SayError } from '../agent/turn/say/say.ts'
import type { WorkerError } from '../agent/workers/requests.ts'

/** An error as a problem document (RFC 9457), with the data of the typed error as further fields. */
export interface ProblemDetails {
  /** The tag in kebab case after `urn:palimpsest:`, such as `urn:palimpsest:stale-context`. */
  readonly type: string
  readonly title: string
  readonly status: number
  /** Message of the error, which says what to do. */
  readonly detail: string
  readonly [field: string]: unknown
}

/** Tags of errors that occur only in HTTP requests. */
export type RequestTag =
  | 'Unauthorized'
  | 'Forbidden'
  | 'HostRefused'
  | 'OriginRefused'
  | 'InvalidRequest'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'PreconditionRequired'
  | 'CommandReused'
  | 'BodyTooLarge'
  | 'UnsupportedMediaType'
  | 'NotAcceptable'
  | 'RangeNotSatisfiable'
  | 'ReadOnly'
  | 'TooLong'
  | 'Overloaded'
  | 'NotAsked'
  | 'SecretsFound'
  | 'NotParked'
  | 'Ending'
  | 'Internal'

type LibraryError =
  | ReadError
  | WriteError
  | NoteError
  | SayError
  | DecisionError
  | WithdrawalError
  | WorkerError
  | CallOutOfRange
  | UnknownRenderer
  | OriginalNotKept
  | LedgerError
  | ProofError
  | EraseError
  | ReleaseError
/** Tag of an error of the server or of the library. */
export type Tag = RequestTag | LibraryError['_tag']

const statuses: Readonly<Record<Tag, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  HostRefused: 403,
  OriginRefused: 403,
  InvalidRequest: 400,
  NotFound: 404,
  MethodNotAllowed: 405,
  PreconditionRequired: 428,
  CommandReused: 422,
  BodyTooLarge: 413,
  UnsupportedMediaType: 415,
  NotAcceptable: 406,
  RangeNotSatisfiable: 416,
  ReadOnly: 403,
  TooLong: 413,
  Overloaded: 503,
  NotAsked: 409,
  SecretsFound: 409,
  NotParked: 409,
  Ending: 503,
  Internal: 500,
  InvalidInput: 400,
  EventTooLarge: 413,
  StaleContext: 412,
  OutOfRange: 404,
  NotShown: 409,
  UnsafeCut: 409,
  NothingToHide: 409,
  NothingToUndo: 409,
  NothingToRewind: 409,
  ConversationNotFound: 404,
  ConversationExists: 409,
  OriginalNotKept: 404,
  CallOutOfRange: 404,
  UnknownRenderer: 501,
  AlreadyDecided: 409,
  NotWaiting: 409,
  NotWithdrawn: 409,
  Busy: 409,
  WorkerNotFound: 404,
  CannotErase: 409,
  CannotRelease: 409,
  NotSealed: 409,
  SealContradicted: 409,
  LedgerNotFound: 404,
  LedgerDamaged: 500,
  // Errors of the store.
  Conflict: 409,
  OutcomeUnknown: 503,
  StoreBusy: 503,
  StoreUnavailable: 503,
  StoreClosed: 503,
  StoreReplaced: 503,
  StoreFull: 507,
  StoreReadOnly: 403,
  StoreDenied: 502,
  DecodeFailed: 500,
  HistoryLost: 500,
  BlobMissing: 500,
  BlobDamaged: 500,
  StoreCorrupt: 500,
  StoreFaulty: 500,
  StoreNotFound: 500,
  StoreTooNew: 500,
  ImportUnfinished: 409,
}

const kebab = (tag: string): string =>
  tag.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase()
/** Formats an error tag as words, such as `Stale context`. */
export const titleOf = (tag: string): string => {
  const [first = '', ...rest] = kebab(tag).replaceAll('-', ' ')
  return first.toUpperCase() + rest.join('')
}

/** Fields of an error that are not sent to the caller: a driver's error may contain anything, and paths are private to the server. */
const hidden = new Set(['_tag', 'message', 'name', 'stack', 'cause', 'store', 'partial'])

interface Failed {
  readonly _tag: string
  readonly message: string
}

const isTag = (tag: string): tag is Tag => tag in statuses

export const problemOf = (error: Failed): ProblemDetails => ({
  type: `urn:palimpsest:${kebab(error._tag)}`,
  title: titleOf(error._tag),
  status: isTag(error._tag) ? statuses[error._tag] : 500,
  detail: error.message,
  tag: error._tag,
  ...Object.fromEntries(Object.entries(error).filter(([field]) => !hidden.has(field))),
})

/** Makes an error for a request that the server refuses before it reaches the library. */
export const requestError = (tag: RequestTag, message: string, data: object = {}): Error & Failed =>
  toError({ ...data, _tag: tag, message })

/** Returns the distinct HTTP statuses of the given errors, in ascending order. */
export const statusesOf = (tags: readonly Tag[]): readonly number[] =>
  [...new Set(tags.map((tag) => statuses[tag]))].toSorted((one, other) => one - other)
