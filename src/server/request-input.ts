/** Request headers; `get` takes a lower-case name. */
export type HeaderFields = Pick<Headers, 'get'>

/** Method, path and headers of a request, independent of how it arrived. */
export interface RequestHead {
  /** HTTP method in upper case. */
  readonly method: string
  /** Path without the query. */
  readonly path: string
  /** Returns a header by its lower-case name; repeated headers are joined with commas. */
  readonly header: (name: string) => string | undefined
}

/** Input of an operation before validation. */
export interface RequestInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Reads the body of the request. Throws `BodyTooLarge`. */
  readonly text: () => Promise<string>
  /** Returns a signal that aborts when the caller disconnects. */
  readonly signal: () => AbortSignal
}

/** Reports whether the caller already has the response with this ETag, so that the server can respond with 304. */
export const isKnown = (asked: RequestHead, etag: string | undefined): boolean => {
  if (asked.method !== 'GET' || etag === undefined) return false
  const known = asked
    .header('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.some((tag) => tag === etag || tag === '*') === true
}
