// Where the page's data come from: a server, or the file that the page is in. Both answer the same paths with the same shapes.

import type { AnswerOf, BodyOf, PathOf } from '../../server/client/api.ts'
import type { ApiPath } from '../../server/client/api-path.ts'
import type { ParsedSseMessage } from '../../server/client/sse.ts'

/** Why something could not be had: the API's problem (RFC 9457), or one like it. */
export interface SourceProblem {
  readonly title: string
  /** What to do about it. */
  readonly detail: string
  /** 0: there was no answer. */
  readonly status: number
  /** The typed error of the library. */
  readonly tag?: string | undefined
  readonly [field: string]: unknown
}

/** There was no answer. */
export const unreachable: SourceProblem = {
  title: 'The server cannot be reached',
  detail: 'Check that `palimpsest serve` still runs, then try again.',
  status: 0,
}

export interface SourceRequestOptions {
  readonly signal?: AbortSignal | undefined
}

/** Bytes of a content, both ends included; what they are of, and how many there are. */
export interface FetchedBytes {
  readonly blob: Blob
  /** The media type as the server gives it. */
  readonly type: string
  /** Of the whole content, in bytes. */
  readonly total: number
}
/** A file, with the name that it is offered under. */
export interface DownloadFile {
  readonly blob: Blob
  readonly name: string
  /** A header of the answer. */
  readonly header: (name: string) => string | null
}
export interface ByteRangeOptions extends SourceRequestOptions {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** How it stands with a stream. `since`, `next`: ms since 1970. */
export type ConnectionState =
  | { readonly state: 'live' }
  | { readonly state: 'connecting' }
  | { readonly state: 'reconnecting'; readonly next: number }
  /** `why`: what the server said; undefined if it could not be reached. */
  | { readonly state: 'offline'; readonly since: number; readonly why?: SourceProblem | undefined }
export interface StreamHandlers {
  readonly told: (message: ParsedSseMessage) => void
  readonly connection?: ((connection: ConnectionState) => void) | undefined
}

/** What one may do here. */
export interface AccessRights {
  readonly scopes: readonly string[]
  readonly isReadOnly: boolean
}

export interface ApiSource {
  /** False for a file: nothing new comes, and nothing can be written. */
  readonly isLive: boolean
  /** As the last answer said; undefined before it, and for a file. */
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

/** Any error as a problem. */
export const problemOf = (error: unknown): SourceProblem => {
  if (isProblem(error)) return error
  const detail = error instanceof Error ? error.message : String(error)
  return { title: 'This page has a fault', detail, status: 0 }
}
const isProblem = (error: unknown): error is SourceProblem =>
  typeof error === 'object' && error !== null && 'title' in error && 'detail' in error

/** A problem that can be thrown. */
export const failed = (problem: SourceProblem): Error & SourceProblem =>
  Object.assign(new Error(problem.detail), problem)
