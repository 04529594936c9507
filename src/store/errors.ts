import type { DecodeFailed, EventTooLarge, InvalidInput } from '../events/errors.ts'
import type {
  ConversationNotFound,
  OutOfRange,
  CommandRejection,
  CommandRejections,
} from '../commands/rejections.ts'

/** Failures of a store. `cause` is the driver's error, if any. */
export type StoreError =
  | DecodeFailed
  | Conflict
  | OutcomeUnknown
  | HistoryLost
  | ImportUnfinished
  | BlobMissing
  | BlobDamaged
  | StoreBusy
  | StoreClosed
  | StoreCorrupt
  | StoreDenied
  | StoreFaulty
  | StoreFull
  | StoreNotFound
  | StoreReadOnly
  | StoreReplaced
  | StoreTooNew
  | StoreUnavailable

/** Reports whether an error concerns one unreadable event rather than the store or the whole stream. */
export const isOfEvent = <E extends { readonly _tag: string }>(
  error: E,
): error is Extract<E, DecodeFailed | BlobMissing | BlobDamaged> =>
  error._tag === 'DecodeFailed' || isBlobError(error)

/** Reports whether an error concerns content stored outside an event. */
export const isBlobError = <E extends { readonly _tag: string }>(
  error: E,
): error is Extract<E, BlobMissing | BlobDamaged> =>
  error._tag === 'BlobMissing' || error._tag === 'BlobDamaged'

/** Reports whether an error means that no given key opens an event. */
export const isKeyMissing = <E extends { readonly _tag: string }>(
  error: E,
): error is Extract<E, DecodeFailed> & { readonly isKeyMissing: true } =>
  error._tag === 'DecodeFailed' && 'isKeyMissing' in error && error.isKeyMissing === true

/** Part of the message for an event whose key is missing among those that were given. */
export const noKeyOpens = 'has no key that opens it'

/** Reports whether an error means that written data is lost or altered, rather than that the store cannot be read. */
export const isLoss = (error: StoreError): boolean => isOfEvent(error) || error._tag === 'HistoryLost'

/** Errors of a read. */
export type ReadError = StoreError | InvalidInput | ConversationNotFound | OutOfRange
/** Errors of a write. Nothing was written, except possibly in the case of `OutcomeUnknown`. */
export type WriteError = StoreError | CommandRejection
/** Errors of one type of command. */
type ErrorOfCommand<T extends keyof CommandRejections> = StoreError | CommandRejections[T]
export type AppendError = ErrorOfCommand<'append'>
export type ConfigureError = ErrorOfCommand<'configure'>
/** Errors of condense and truncate. */
export type HideError = ErrorOfCommand<'condense' | 'truncate'>
export type RestoreError = ErrorOfCommand<'restore'>
export type RewindError = ErrorOfCommand<'rewind'>
export type UndoError = ErrorOfCommand<'undo'>
export type ForkError = ErrorOfCommand<'fork'>
/** Errors of writing a note or a link. */
export type NoteError = StoreError | InvalidInput | EventTooLarge | ConversationNotFound

/** Another writer appended to the stream after it was read, so its last revision is not the expected one. */
export interface Conflict {
  readonly _tag: 'Conflict'
  readonly message: string
  readonly stream: string
  /** Last revision that the writer had read; -1 if the stream was empty. */
  readonly expected: number
  readonly actual: number
}

/**
 * The append has an unknown outcome: its events may have been written or not. Repeat the command under the same command id to find out.
 */
export interface OutcomeUnknown {
  readonly _tag: 'OutcomeUnknown'
  readonly message: string
  readonly stream: string
  /** Ids of the events that may have been written. */
  readonly events: readonly string[]
  readonly cause?: unknown
}

/** The database has lost events of the stream, so the remaining events are not the whole conversation. */
export interface HistoryLost {
  readonly _tag: 'HistoryLost'
  readonly message: string
  readonly stream: string
}

/**
 * An import or copy of the conversation is in progress or was interrupted. Nothing else can be written to the conversation until it is
 * complete.
 */
export interface ImportUnfinished {
  readonly _tag: 'ImportUnfinished'
  readonly message: string
  readonly conversation: string
}

/** Content stored outside an event is missing. */
export interface BlobMissing {
  readonly _tag: 'BlobMissing'
  readonly message: string
  readonly stream: string
  readonly revision: number
  /** Id of the affected event. */
  readonly event: string
  readonly sha256: string
  /** Checkpoint of the affected event, if the error occurred while reading all events; reading can continue after this checkpoint. */
  readonly checkpoint?: string | undefined
}
/** Content stored outside an event does not match its hash. */
export interface BlobDamaged extends Omit<BlobMissing, '_tag'> {
  readonly _tag: 'BlobDamaged'
}

/** The file to write already exists. */
export interface FileExists {
  readonly _tag: 'FileExists'
  readonly message: string
  readonly file: string
}

interface StoreFailure<T extends string> {
  readonly _tag: T
  readonly message: string
  /** URL of the store, without credentials. */
  readonly store: string
  readonly cause?: unknown
}
/** Another process held the write lock for longer than the store waits. Try again. */
export type StoreBusy = StoreFailure<'StoreBusy'>
export type StoreClosed = StoreFailure<'StoreClosed'>
/** The file is not a store, or is damaged. */
export type StoreCorrupt = StoreFailure<'StoreCorrupt'>
/** The server rejects the credentials. */
export type StoreDenied = StoreFailure<'StoreDenied'>
/** A custom store returned a value that no store may return; `cause` is that value. */
export type StoreFaulty = StoreFailure<'StoreFaulty'>
/** The store does not exist, and creating it was not allowed. */
export type StoreNotFound = StoreFailure<'StoreNotFound'>
/** The store has no space left for writing. */
export type StoreFull = StoreFailure<'StoreFull'>
export type StoreReadOnly = StoreFailure<'StoreReadOnly'>
/**
 * The file at the store's path is no longer the open file, which was removed, renamed or replaced. Written data may be in the old file
 * rather than in the file now at the path.
 */
export type StoreReplaced = StoreFailure<'StoreReplaced'>
/** The store was written by a newer version of palimpsest. */
export type StoreTooNew = StoreFailure<'StoreTooNew'>
/** The store cannot be opened or reached. */
export type StoreUnavailable = StoreFailure<'StoreUnavailable'>

export const conflict = (stream: string, expected: number, actual: number): Conflict => ({
  _tag: 'Conflict',
  message: `stream ${stream} is at revision ${actual}, not at ${expected}: it was written to in the meantime`,
  stream,
  expected,
  actual,
})

export const outcomeUnknown = (
  stream: string,
  events: readonly string[],
  cause: unknown,
): OutcomeUnknown => ({
  _tag: 'OutcomeUnknown',
  message: `whether ${events.length === 1 ? 'the event was' : `the ${events.length} events were`} written to ${stream} is unknown: look for ${events[0]} there, or repeat the command with the same command id, which writes it at most once`,
  stream,
  events,
  cause,
})

/** Part of a `StoreNotFound` message about a file with nothing in it. */
export const emptyFile = ', where the file is empty'

export const historyLost = (stream: string, how: string): HistoryLost => ({
  _tag: 'HistoryLost',
  message: `stream ${stream} has lost events (${how}): restore a backup of the database, and set no $maxCount, $maxAge or $tb on conversations`,
  stream,
})

export const importUnfinished = (conversation: string): ImportUnfinished => ({
  _tag: 'ImportUnfinished',
  message: `conversation ${conversation} is incomplete: an import or copy is in progress or was interrupted; wait until it has finished, or run it again. If its file is gone, copy the store to a new one: a copy leaves out what is incomplete`,
  conversation,
})

export const fileExists = (
  file: string,
  advice = 'already exists: name another file, or overwrite it with force',
): FileExists => ({ _tag: 'FileExists', message: `${file} ${advice}`, file })

/**
 * Returns the error for a store that violates its contract.
 *
 * @param what description of the violation, such as `answered 5, which is not a list of names`
 */
export const storeFaulty = (store: string, method: string, what: string, cause: unknown): StoreFaulty => ({
  _tag: 'StoreFaulty',
  message: `${method} of ${store} ${what}: correct the store; run the contract in palimpsest/testing to find further violations`,
  store,
  cause,
})

export const storeClosed = (store: string): StoreClosed => ({
  _tag: 'StoreClosed',
  message: `${store} is closed: open it again`,
  store,
})
