/** The headers of a request, by their names in lower case. */
export type HeaderFields = Pick<Headers, 'get'>

/** What came of a request, whichever way it came. */
export interface RequestHead {
  /** In capitals. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** By its name in lower case; those of one name are joined with commas. */
  readonly header: (name: string) => string | undefined
}

/** What an operation is asked for, not checked yet. */
export interface RequestInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Reads the body. Throws `BodyTooLarge`. */
  readonly text: () => Promise<string>
  /** Aborts when the caller goes away. */
  readonly signal: () => AbortSignal
}

/** Whether the caller has the answer with this ETag: he is told so, in place of it. */
export const isKnown = (asked: RequestHead, etag: string | undefined): boolean => {
  if (asked.method !== 'GET' || etag === undefined) return false
  const known = asked
    .header('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.some((tag) => tag === etag || tag === '*') === true
}
