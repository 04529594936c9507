/** Request headers, by lower-case name. */
export type HeaderFields = Pick<Headers, 'get'>

/** Head of a request, independent of how it arrived. */
export interface RequestHead {
  /** Method in capitals. */
  readonly method: string
  /** Path without the query. */
  readonly path: string
  /** Returns a header by its lower-case name; repeated headers are joined with commas. */
  readonly header: (name: string) => string | undefined
}

/** Unchecked input of an operation. */
export interface RequestInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Reads the body. Throws `BodyTooLarge`. */
  readonly text: () => Promise<string>
  /** Aborts when the caller goes away. */
  readonly signal: () => AbortSignal
}

/** True if the caller already has the response with this ETag: then it is answered with 304. */
export const isKnown = (asked: RequestHead, etag: string | undefined): boolean => {
  if (asked.method !== 'GET' || etag === undefined) return false
  const known = asked
    .header('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.some((tag) => tag === etag || tag === '*') === true
}
