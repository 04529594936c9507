// Finds the items of a list whose text contains a term. The list changes little from one search to the next, and is searched thousands
// of times.

/** Number of values of a hashed trigram: a power of 2. */
const trigrams = 2_048

/** Index of the texts of the items in a list. */
export interface TextIndex<K extends object> {
  /** Reports whether the list has an item that passes the test and whose text contains the term. Terms have at least 3 characters. */
  readonly contains: (list: readonly K[], term: string, test: (item: K) => boolean) => boolean
}

/**
 * Creates an index. It has a column of bits for each hashed trigram, with a bit for each item: an item can contain a term only if its
 * bit is set in the columns of all trigrams of the term. The text is searched only then.
 *
 * @param textOf returns the text of an item, which must not change
 */
export const createTextIndex = <K extends object>(textOf: (item: K) => string): TextIndex<K> => {
  let known: readonly K[] = []
  let items: K[] = []
  let rows = new Map<K, number>()
  // Length of each column and of `listed`, in words with one bit for each of 32 items.
  let words = 0
  let columns = new Uint32Array(0)
  let listed = new Uint32Array(0)

  const rowOf = (item: K): number => {
    const before = rows.get(item)
    if (before !== undefined) return before
    const row = items.push(item) - 1
    rows.set(item, row)
    const text = textOf(item)
    for (let at = 0; at + 2 < text.length; at++) {
      const word = trigramAt(text, at) * words + (row >> 5)
      columns[word] = (columns[word] ?? 0) | (1 << (row & 31))
    }
    return row
  }
  const update = (list: readonly K[]): void => {
    if (list === known) return
    // Usually, the list only has more items at its end.
    let next = known.every((item, index) => item === list[index]) ? list.slice(known.length) : list
    const added = next.reduce((count, item) => (rows.has(item) ? count : count + 1), 0)
    if (items.length + added > 32 * words) {
      // Makes room for four times as many items, so that items are rarely indexed again.
      words = Math.ceil(list.length / 8)
      columns = new Uint32Array(trigrams * words)
      items = []
      rows = new Map()
      next = list
    }
    if (next === list) listed = new Uint32Array(words)
    for (const item of next) {
      const row = rowOf(item)
      listed[row >> 5] = (listed[row >> 5] ?? 0) | (1 << (row & 31))
    }
    known = list
  }
  return {
    contains: (list, term, test) => {
      update(list)
      const wanted = Array.from({ length: Math.max(0, term.length - 2) }, (_, at) => trigramAt(term, at))
      // Newest items first, because they are the most likely to match.
      for (let word = words - 1; word >= 0; word--) {
        let found = listed[word] ?? 0
        for (const trigram of wanted) {
          found &= columns[trigram * words + word] ?? 0
          if (found === 0) break
        }
        while (found !== 0) {
          const bit = 31 - Math.clz32(found)
          found ^= 1 << bit
          const item = items[32 * word + bit]
          if (item && test(item) && textOf(item).includes(term)) return true
        }
      }
      return false
    },
  }
}

/** Returns the trigram of a text at this index as a number below `trigrams`. Different trigrams may have the same number. */
const trigramAt = (text: string, at: number): number =>
  (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) & (trigrams - 1)
