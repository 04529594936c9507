// A page of a list, and where those beside it are.

/** The requested page. */
interface Wanted {
  /** First index or position of the page, inclusive. */
  readonly from: number
  readonly limit: number
  readonly direction?: 'forward' | 'backward' | undefined
}
/** Query fields that differ on another page. */
export interface PageQuery {
  readonly from: number
  readonly limit: number
}
/** A page, and its neighbours in the same direction, which do not overlap with it. */
interface Page {
  /** Lowest and highest index or position; the page is empty if `first` > `last`. */
  readonly first: number
  readonly last: number
  readonly next?: PageQuery | undefined
  readonly prev?: PageQuery | undefined
}

/** Returns a page of a list from 0 through `end`. Forward, a page that begins after the end is empty; backward, it begins at the end. */
export const pageOf = ({ from, limit, direction }: Wanted, end: number): Page => {
  if (direction === 'backward') {
    const last = Math.min(from, end)
    const first = Math.max(0, last - limit + 1)
    const before = Math.min(limit, end - last)
    return {
      first,
      last,
      next: first > 0 ? { from: first - 1, limit } : undefined,
      prev: before > 0 ? { from: last + before, limit: before } : undefined,
    }
  }
  const last = Math.min(end, from + limit - 1)
  const before = Math.min(limit, from, end + 1)
  return {
    first: from,
    last,
    next: last < end ? { from: last + 1, limit } : undefined,
    prev: before > 0 ? { from: Math.min(from, end + 1) - before, limit: before } : undefined,
  }
}

/** Maximum size of the items on a page, as JSON in bytes: further items go to the next page. */
const largestPage = 8 * 1024 * 1024

/** Makes a predicate, called with each item of a page in order: true if the item does not fit. The first one always does. */
export const createPageLimit = (): ((item: object) => boolean) => {
  let bytes = 0
  return (item) => {
    const isFirst = bytes === 0
    bytes += Buffer.byteLength(JSON.stringify(item))
    return !isFirst && bytes > largestPage
  }
}

/**
 * Makes the `Link` header with the neighbouring pages. Its relative references repeat the whole query, as they inherit none.
 *
 * @param query of the page
 * @param beside fields that differ in the queries of the neighbours; undefined if there is no such page
 */
export const linkHeader = (
  query: object,
  beside: { readonly next?: object | undefined; readonly prev?: object | undefined },
): { readonly link?: string } => {
  const links = (['next', 'prev'] as const).flatMap((rel) => {
    const change = beside[rel]
    if (change === undefined) return []
    const fields = new URLSearchParams()
    for (const [name, value] of [...Object.entries(query), ...Object.entries(change)])
      if (value !== undefined) fields.set(name, String(value))
    return [`<?${fields.toString().replaceAll('%2C', ',')}>; rel="${rel}"`]
  })
  return links.length > 0 ? { link: links.join(', ') } : {}
}
