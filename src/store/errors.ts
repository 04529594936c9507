import type { DecodeFailed, EventTooLarge, InvalidInput } from '../events/errors.ts'
import type {
  ConversationNotFound,
  OutOfRange,
  CommandRejection,
  CommandRejections,
} from '../commands/rejections.ts'

/** Why a store could not do what it was asked. `cause` is the driver's own error, where there is one. */
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

/** Whether an error is about one event, which cannot be read, and not about the store or the whole stream. */
export const isOfEvent = <E extends { readonly _tag: string }>(
  error: E,
): error is Extract<E, DecodeFailed | BlobMissing | BlobDamaged> =>
  error._tag === 'DecodeFailed' || error._tag === 'BlobMissing' || error._tag === 'BlobDamaged'

/** Whether an error says that what was written is not there as it was, and not that the store cannot be read. */
export const isLoss = (error: StoreError): boolean => isOfEvent(error) || error._tag === 'HistoryLost'

/** Why something could not be read. */
export type ReadError = StoreError | InvalidInput | ConversationNotFound | OutOfRange
/** Why something was not written. No part of it was. */
export type WriteError = StoreError | CommandRejection
/** Why a command of a type was not carried out. */
type ErrorOfCommand<T extends keyof CommandRejections> = StoreError | CommandRejections[T]
export type AppendError = ErrorOfCommand<'append'>
export type ConfigureError = ErrorOfCommand<'configure'>
/** Why nothing was condensed or truncated. */
export type HideError = ErrorOfCommand<'condense' | 'truncate'>
export type RestoreError = ErrorOfCommand<'restore'>
export type RewindError = ErrorOfCommand<'rewind'>
export type UndoError = ErrorOfCommand<'undo'>
export type ForkError = ErrorOfCommand<'fork'>
/** Why a note or a link was not written. */
export type NoteError = StoreError | InvalidInput | EventTooLarge | ConversationNotFound

/** Somebody wrote to the stream after it was read: its last revision is not the expected one. */
export interface Conflict {
  readonly _tag: 'Conflict'
  readonly message: string
  readonly stream: string
  /** The last revision that the writer had read; -1 for an empty stream. */
  readonly expected: number
  readonly actual: number
}

/** It is not known whether the events were written. Sending the same command again (same command id) settles it. */
export interface OutcomeUnknown {
  readonly _tag: 'OutcomeUnknown'
  readonly message: string
  readonly stream: string
  /** The ids of the events in question. */
  readonly events: readonly string[]
  readonly cause?: unknown
}

/** The database has lost events of the stream: what is left is not the conversation. */
export interface HistoryLost {
  readonly _tag: 'HistoryLost'
  readonly message: string
  readonly stream: string
}

/** An import or copy of the conversation is under way or was interrupted: nothing can be written to it until that is complete. */
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
  /** The event's id. */
  readonly event: string
  readonly sha256: string
  /** Of the event, if all events were read: those after it can be. */
  readonly checkpoint?: string | undefined
}
/** Content stored outside an event does not match its hash. */
export interface BlobDamaged extends Omit<BlobMissing, '_tag'> {
  readonly _tag: 'BlobDamaged'
}

/** The file to write exists already. */
export interface FileExists {
  readonly _tag: 'FileExists'
  readonly message: string
  readonly file: string
}

interface StoreFailure<T extends string> {
  readonly _tag: T
  readonly message: string
  /** The store's URL without credentials. */
  readonly store: string
  readonly cause?: unknown
}
/** Another process held the write lock for longer than the store waits. Try again. */
export type StoreBusy = StoreFailure<'StoreBusy'>
export type StoreClosed = StoreFailure<'StoreClosed'>
/** The file is not a store, or it is damaged. */
export type StoreCorrupt = StoreFailure<'StoreCorrupt'>
/** The server rejects the credentials. */
export type StoreDenied = StoreFailure<'StoreDenied'>
/** Somebody's own store answered something that no store may answer; `cause` is what it answered. */
export type StoreFaulty = StoreFailure<'StoreFaulty'>
/** There is no store, and it was not to be created. */
export type StoreNotFound = StoreFailure<'StoreNotFound'>
/** No space left to write. */
export type StoreFull = StoreFailure<'StoreFull'>
export type StoreReadOnly = StoreFailure<'StoreReadOnly'>
/**
 * The file that is open is not the one at its path any more: it was removed, renamed or replaced. What was written may be in the file
 * that was moved away, not in the one there now.
 */
export type StoreReplaced = StoreFailure<'StoreReplaced'>
/** A newer palimpsest has written this store. */
export type StoreTooNew = StoreFailure<'StoreTooNew'>
/** The store cannot be opened or reached. */
export type StoreUnavailable = StoreFailure<'StoreUnavailable'>

export const conflict = (stream: string, expected: number, actual: number): Conflict => ({
  _tag: 'Conflict',
  message: `stream ${stream} is at revision ${actual}, not at ${expected}: somebody else wrote to it`,
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
  message: `whether ${events.length === 1 ? 'the event was' : `the ${events.length} events were`} written to ${stream} is not known: look for ${events[0]} there, or send the command again under the same command id, which writes it at most once`,
  stream,
  events,
  cause,
})

export const historyLost = (stream: string, how: string): HistoryLost => ({
  _tag: 'HistoryLost',
  message: `stream ${stream} has lost events (${how}): restore a backup of the database, and set no $maxCount, $maxAge or $tb on conversations`,
  stream,
})

export const importUnfinished = (conversation: string): ImportUnfinished => ({
  _tag: 'ImportUnfinished',
  message: `conversation ${conversation} is being imported or copied, or that was interrupted: wait until it is complete, or import or copy it again to complete it`,
  conversation,
})

export const fileExists = (
  file: string,
  advice = 'exists already: name another file, or overwrite it with force',
): FileExists => ({ _tag: 'FileExists', message: `${file} ${advice}`, file })

/** @param what it did, such as `answered 5, which is no list of names` */
export const storeFaulty = (store: string, method: string, what: string, cause: unknown): StoreFaulty => ({
  _tag: 'StoreFaulty',
  message: `${method} of ${store} ${what}: correct the store; the contract in palimpsest/testing tells what else it breaks`,
  store,
  cause,
})

export const storeClosed = (store: string): StoreClosed => ({
  _tag: 'StoreClosed',
  message: `${store} is closed: open it again`,
  store,
})
