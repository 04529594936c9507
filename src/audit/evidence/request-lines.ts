import { hash } from 'node:crypto'

/**
 * A line of `requests.jsonl`. The request consists of the first `keep` parts of the request on the previous line, followed by the parts
 * at the lines `add` of `parts.txt`, numbered from 0.
 */
export interface RequestLine {
  /** Position of the event that holds the receipt. */
  readonly position: number
  /** Key of the receipt's digest, in hex. Absent if the digest has none. */
  readonly key?: string
  readonly keep: number
  readonly add: readonly number[]
}

/** Returns a key that identifies a text: its hash, or the text itself if that is shorter. */
const nameOf = (text: string): string => (text.length < 44 ? text : hash('sha256', text, 'base64'))

/**
 * Returns a function that encodes requests for `requests.jsonl` and `parts.txt`, writing each distinct text only once.
 *
 * Memory: a key for each distinct part, and the part numbers of one request.
 *
 * @returns a function that returns the request's additions to the two files
 */
export const requestWriter = () => {
  const numbers = new Map<string, number>()
  let before: readonly number[] = []
  return (
    position: number,
    { texts, key }: { readonly texts: readonly string[]; readonly key: string | undefined },
  ): { readonly line: RequestLine; readonly parts: string } => {
    let parts = ''
    const all = texts.map((text) => {
      const name = nameOf(text)
      const known = numbers.get(name)
      if (known !== undefined) return known
      parts += `${text}\n`
      numbers.set(name, numbers.size)
      return numbers.size - 1
    })
    const differs = all.findIndex((number, index) => number !== before[index])
    const keep = differs < 0 ? all.length : differs
    before = all
    return { line: { position, ...(key !== undefined && { key }), keep, add: all.slice(keep) }, parts }
  }
}
