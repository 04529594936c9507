import type { CondenseError } from '../agent/context/summary/condense.ts'
import type { ImportError } from '../transfer/formats/errors.ts'
import type { FormatTaken } from '../transfer/formats/registry.ts'
import type { BackupError } from '../store/backup.ts'
import type { CopyError } from '../transfer/copy-stream.ts'
import type { CallOutOfRange } from '../agent/receipts/errors.ts'
import type { OriginalNotKept } from '../conversation/reading/original.ts'
import type { EraseError } from '../conversation/writing/erase.ts'
import type { CannotRelease } from './erase.ts'
import type { RetentionRunError } from './retention.ts'
import type { EvidenceError } from '../audit/evidence/source.ts'
import type { BeginError, ProofError, SealError } from '../audit/ledger/errors.ts'
import type { ReadError, WriteError } from '../store/errors.ts'
import type { SchemeTaken } from '../store/schemes.ts'
import type { McpError } from '../agent/tools/mcp.ts'
import type { SayError } from '../agent/turn/say/say.ts'
import type { WorkerError } from '../agent/workers/requests.ts'
import type { DecisionError, WithdrawalError } from '../agent/turn/calls/decisions.ts'
import type { TurnError } from '../agent/turn/turn-result.ts'
import type { OpenError } from './schemes.ts'

/** All typed errors of the library. docs/errors.md describes what to do about each. */
export type PalimpsestError =
  | OpenError
  | SchemeTaken
  | FormatTaken
  | ReadError
  | WriteError
  | ImportError
  | CopyError
  | BackupError
  | CondenseError
  | TurnError
  | McpError
  | SayError
  | DecisionError
  | WithdrawalError
  | CallOutOfRange
  | WorkerError
  | BeginError
  | SealError
  | ProofError
  | EvidenceError
  | EraseError
  | OriginalNotKept
  | CannotRelease
  | RetentionRunError

/** The error type with a given tag. */
export type ErrorOf<T extends PalimpsestError['_tag']> = Extract<PalimpsestError, { readonly _tag: T }>

/**
 * Reports whether a thrown value, or the error of a result, is the typed error with this tag, and narrows it to the error's type.
 * Without a tag, reports whether it is any typed error of the library.
 *
 * @example
 * const { at } = await chat.context()
 * try {
 *   await chat.append({ role: 'assistant', content: 'At line 80.' }, { after: at })
 * } catch (error) {
 *   if (!isError(error, 'StaleContext')) throw error
 *   console.error(`something was appended after ${error.after}: the last position is ${error.last}`)
 * }
 */
export const isError = <T extends PalimpsestError['_tag']>(error: unknown, tag?: T): error is ErrorOf<T> =>
  typeof error === 'object' &&
  error !== null &&
  '_tag' in error &&
  (tag === undefined ? typeof error._tag === 'string' && isNamed(error) : error._tag === tag) &&
  'message' in error &&
  typeof error.message === 'string'

/** Reports whether an error has the name that `toError` gives it. Errors of results are plain objects without a name. */
const isNamed = (error: { readonly _tag: unknown }): boolean =>
  !(error instanceof Error) || error.name === error._tag
