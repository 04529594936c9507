// A page of a list, and where those beside it are.

/** What is asked for. */
interface Wanted {
  /** Where the page begins, that one included: an index, or a position. */
  readonly from: number
  readonly limit: number
  readonly direction?: 'forward' | 'backward' | undefined
}
/** What the query of another page has in place of this one's. */
export interface PageQuery {
  readonly from: number
  readonly limit: number
}
/** A page, and those beside it in the same direction, which have nothing in common with it. */
interface Page {
  /** The lowest and the highest of it; `first` > `last`: it is empty. */
  readonly first: number
  readonly last: number
  readonly next?: PageQuery | undefined
  readonly prev?: PageQuery | undefined
}

/** A page of a list from 0 through `end`. One that is to begin after the end is empty; backward it begins with the end. */
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

/** The most bytes that the items of a page have as JSON: what is more is on the next one. */
const largestPage = 8 * 1024 * 1024

/** Tells of the items of a page, one after the other, which of them is too much. The first one never is. */
export const fillingPage = (): ((item: object) => boolean) => {
  let bytes = 0
  return (item) => {
    const isFirst = bytes === 0
    bytes += Buffer.byteLength(JSON.stringify(item))
    return !isFirst && bytes > largestPage
  }
}

/**
 * The header that names the pages beside one: a relative reference has none of the query that it is resolved against.
 *
 * @param query of the page
 * @param beside what those of the others have in its place; undefined: there is no such page
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
