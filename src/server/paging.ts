// Pages of a list, with the queries for the next and previous pages.

interface Wanted {
  /** First index or position to return, inclusive. */
  readonly from: number
  readonly limit: number
  readonly direction?: 'forward' | 'backward' | undefined
}
/** Query fields that identify another page of the list. */
export interface PageQuery {
  readonly from: number
  readonly limit: number
}
/** A page of a list, and the queries for the next and previous pages in the same direction. Pages do not overlap. */
interface Page {
  /** Lowest index or position of the page; `last` is the highest one. The page is empty if `first` > `last`. */
  readonly first: number
  readonly last: number
  readonly next?: PageQuery | undefined
  readonly prev?: PageQuery | undefined
}

/**
 * Returns a page of a list whose indexes run from 0 through `end`. Forward, a page that begins after the end is empty; backward, such a
 * page begins at the end.
 */
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

/** Maximum size of the items on a page, as JSON in bytes. Items that exceed it are moved to the next page. */
const largestPage = 8 * 1024 * 1024

/**
 * Makes a predicate to call with each item of a page in order. The predicate returns true if the item does not fit on the page. The
 * first item always fits.
 */
export const createPageLimit = (): ((item: object) => boolean) => {
  let bytes = 0
  return (item) => {
    const isFirst = bytes === 0
    bytes += Buffer.byteLength(JSON.stringify(item))
    return !isFirst && bytes > largestPage
  }
}

/**
 * Makes the `Link` header with the neighbouring pages. The relative references repeat the whole query, as a reference does not inherit
 * the query of its base URL.
 *
 * @param query query of the current page
 * @param beside fields that differ in the query of a neighbouring page; undefined if the page does not exist
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
