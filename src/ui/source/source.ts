// Sources of the page's data: a server, or the file that contains the page. Both return the same types for the same paths.

import type { AnswerOf, BodyOf, PathOf } from '../../server/client/api.ts'
import type { ApiPath } from '../../server/client/api-path.ts'
import type { ParsedSseMessage } from '../../server/client/sse.ts'

/** Problem that describes why a request failed (RFC 9457), as sent by the API or composed by the page. */
export interface SourceProblem {
  readonly title: string
  /** Explanation for the user, including a remedy where one exists. */
  readonly detail: string
  /** HTTP status; 0 if no response was received. */
  readonly status: number
  /** `_tag` of the library's typed error. */
  readonly tag?: string | undefined
  readonly [field: string]: unknown
}

/** Problem reported if the server sends no response. */
export const unreachable: SourceProblem = {
  title: 'The server cannot be reached',
  detail: 'Check that `palimpsest serve` is still running, then try again.',
  status: 0,
}

export interface SourceRequestOptions {
  readonly signal?: AbortSignal | undefined
}

/** Content or byte range of content, with its media type and total size. */
export interface FetchedBytes {
  readonly blob: Blob
  /** Media type of the content. */
  readonly type: string
  /** Size of the whole content, in bytes. */
  readonly total: number
}
export interface DownloadFile {
  readonly blob: Blob
  readonly name: string
  readonly header: (name: string) => string | null
}
export interface ByteRangeOptions extends SourceRequestOptions {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** State of the connection that a stream of events uses. `since` and `next` are in milliseconds since 1970. */
export type ConnectionState =
  | { readonly state: 'live' }
  | { readonly state: 'connecting' }
  | { readonly state: 'reconnecting'; readonly next: number }
  /** `why` is the problem reported by the server; undefined if the server could not be reached. */
  | { readonly state: 'offline'; readonly since: number; readonly why?: SourceProblem | undefined }
export interface StreamHandlers {
  readonly told: (message: ParsedSseMessage) => void
  readonly connection?: ((connection: ConnectionState) => void) | undefined
}

export interface AccessRights {
  readonly scopes: readonly string[]
  readonly isReadOnly: boolean
}

export interface ApiSource {
  /** False for an embedded file, which cannot change or be written to. */
  readonly isLive: boolean
  /** Returns the user's permissions according to the last response; undefined before the first response and for an embedded file. */
  readonly access: () => AccessRights | undefined
  /**
   * Requests a path and resolves with the JSON of the response. Rejects with a `SourceProblem`, or with the signal's reason if the
   * request is aborted.
   */
  readonly get: <T extends PathOf<'get'>>(
    path: ApiPath<T>,
    asking?: SourceRequestOptions,
  ) => Promise<AnswerOf<'get', T>>
  readonly post: <T extends PathOf<'post'>>(
    path: ApiPath<T>,
    body: BodyOf<T>,
    asking?: SourceRequestOptions,
  ) => Promise<AnswerOf<'post', T>>
  readonly bytes: (path: ApiPath, part?: ByteRangeOptions) => Promise<FetchedBytes>
  /** Downloads a file that the server generates. */
  readonly file: <T extends PathOf<'post'>>(path: ApiPath<T>, body: BodyOf<T>) => Promise<DownloadFile>
  /**
   * Subscribes to a stream of events after `after`, and reconnects when the connection breaks. Returns a function that ends the
   * subscription.
   */
  readonly follow: (
    path: ApiPath,
    after: string | number | undefined,
    following: StreamHandlers,
  ) => () => void
}

/** Returns a thrown problem unchanged, and converts any other error to a problem. */
export const problemOf = (error: unknown): SourceProblem => {
  if (isProblem(error)) return error
  const detail = error instanceof Error ? error.message : String(error)
  return { title: 'Error in this page', detail, status: 0 }
}
const isProblem = (error: unknown): error is SourceProblem =>
  typeof error === 'object' && error !== null && 'title' in error && 'detail' in error

/** Converts a problem to an error that can be thrown. */
export const toThrowable = (problem: SourceProblem): Error & SourceProblem =>
  Object.assign(new Error(problem.detail), problem)
