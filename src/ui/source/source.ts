// Where the page's data come from: a server, or the file that the page is in. Both answer the same paths with the same shapes.

import type { AnswerOf, BodyOf, PathOf } from '../../server/client/api.ts'
import type { ApiPath } from '../../server/client/api-path.ts'
import type { ParsedSseMessage } from '../../server/client/sse.ts'

/** Reason why a request failed: the API's problem (RFC 9457), or one like it. */
export interface SourceProblem {
  readonly title: string
  /** The remedy: what the user can do. */
  readonly detail: string
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  /** Tag of the library's typed error. */
  readonly tag?: string | undefined
  readonly [field: string]: unknown
}

/** Problem for a request without a response. */
export const unreachable: SourceProblem = {
  title: 'The server cannot be reached',
  detail: 'Check that `palimpsest serve` still runs, then try again.',
  status: 0,
}

export interface SourceRequestOptions {
  readonly signal?: AbortSignal | undefined
}

/** A range of bytes, with the content's type and total size. */
export interface FetchedBytes {
  readonly blob: Blob
  /** Media type as returned by the server. */
  readonly type: string
  /** Size of the whole content, in bytes. */
  readonly total: number
}
/** A file and its suggested name. */
export interface DownloadFile {
  readonly blob: Blob
  readonly name: string
  /** Returns a header of the response. */
  readonly header: (name: string) => string | null
}
export interface ByteRangeOptions extends SourceRequestOptions {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** State of a stream's connection. `since`, `next`: ms since 1970. */
export type ConnectionState =
  | { readonly state: 'live' }
  | { readonly state: 'connecting' }
  | { readonly state: 'reconnecting'; readonly next: number }
  /** `why`: the server's problem; undefined if it could not be reached. */
  | { readonly state: 'offline'; readonly since: number; readonly why?: SourceProblem | undefined }
export interface StreamHandlers {
  readonly told: (message: ParsedSseMessage) => void
  readonly connection?: ((connection: ConnectionState) => void) | undefined
}

/** Rights of the user. */
export interface AccessRights {
  readonly scopes: readonly string[]
  readonly isReadOnly: boolean
}

export interface ApiSource {
  /** False for a file, which cannot change or be written to. */
  readonly isLive: boolean
  /** Returns the rights in the last response; undefined before it, and for a file. */
  readonly access: () => AccessRights | undefined
  /** The JSON of an answer. Rejects with a `SourceProblem`; with the signal's reason if it aborts. */
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
  /** A file that the server makes. */
  readonly file: <T extends PathOf<'post'>>(path: ApiPath<T>, body: BodyOf<T>) => Promise<DownloadFile>
  /** Tells what comes after `after`, until the function that it returns is called; continues by itself where a connection broke. */
  readonly follow: (
    path: ApiPath,
    after: string | number | undefined,
    following: StreamHandlers,
  ) => () => void
}

/** Converts any error to a problem. */
export const problemOf = (error: unknown): SourceProblem => {
  if (isProblem(error)) return error
  const detail = error instanceof Error ? error.message : String(error)
  return { title: 'This page has a fault', detail, status: 0 }
}
const isProblem = (error: unknown): error is SourceProblem =>
  typeof error === 'object' && error !== null && 'title' in error && 'detail' in error

/** Converts a problem to an error that can be thrown. */
export const toThrowable = (problem: SourceProblem): Error & SourceProblem =>
  Object.assign(new Error(problem.detail), problem)
