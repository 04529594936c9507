import { hash } from 'node:crypto'

/**
 * A request in `requests.jsonl`: the first `keep` parts of the request on the line before, followed by others, given by their line in
 * `parts.txt`.
 */
export interface RequestLine {
  /** Position of the event that holds the receipt. */
  readonly position: number
  readonly keep: number
  readonly add: readonly number[]
}

/** Returns the name of a text: its hash, or the text itself if that is shorter. */
const nameOf = (text: string): string => (text.length < 44 ? text : hash('sha256', text, 'base64'))

/**
 * Returns a writer of requests that writes no text twice.
 *
 * Memory: a name for each distinct part, and the numbers of one request.
 *
 * @returns what the request adds to the two files
 */
export const requestWriter = () => {
  const numbers = new Map<string, number>()
  let before: readonly number[] = []
  return (
    position: number,
    texts: readonly string[],
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
    return { line: { position, keep, add: all.slice(keep) }, parts }
  }
}
