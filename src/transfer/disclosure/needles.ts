import { maskedText } from './texts.ts'

// Finds words of withheld content in what remains, in time linear in both.

/** Texts that are left out at one position. */
export interface LeftOutTexts {
  readonly position: number
  readonly texts: readonly string[]
  /** Minimum length of a whole text that is telling, in characters. Default: 12. */
  readonly leastWhole?: number
}

/** A place in which words of content that is left out remain. */
export interface WordRepetition {
  /** Positions whose content the place repeats, ascending; at most eight for the same words. */
  readonly of: readonly number[]
  /** Masked form of the longest run of repeated words. */
  readonly excerpt: string
}

/** Length of a run of words that is telling, in characters of the normal form. */
const runLength = 24
const wholeLength = 12
/** Number of digits after which a number is telling, whatever follows. */
const digitsLength = 12
/** Minimum length of a number, a mail address or an identifier that is telling. */
const tokenLength = 6
/** Length of the beginnings by which needles are looked up. */
const keyLength = 4
/** Maximum number of positions that are kept for a needle. */
const mostPositions = 8
/** Maximum number of runs in the index. Of more content, only every second, third … word begins a run. */
const mostRuns = 1_000_000

// Each pattern matches in linear time: a match begins only where the characters before it cannot belong to it.
const mail = /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu
/** Words joined by hyphens or underscores. They are identifiers if they have at least two digits. */
const joinedWords = /[\p{L}\p{N}_-]+/gu
const number = /\d(?:[^\p{L}\p{N}]?\d)+/gu
/** Numbers that are dates tell nothing: every log is full of them. */
const date = /^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])/

/**
 * Returns the normal form in which texts are compared: words in lower case, separated by single spaces. Single separators inside
 * numbers are dropped, so `4111-1111` equals `4111 1111`.
 */
export const normalText = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/(\d)[^\p{L}\p{N}](?=\d)/gu, '$1')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Returns the telling parts of a text that are shorter than a run, in their normal form. */
const shortNeedles = (text: string, leastWhole: number): readonly string[] => {
  const identifiers = (text.match(joinedWords) ?? []).filter((word) => /\p{N}.*\p{N}/u.test(word))
  const tokens = [...identifiers, ...(text.match(mail) ?? []), ...(text.match(number) ?? [])]
    .map(normalText)
    .map((token) => (/^\d+$/.test(token) ? token.slice(0, digitsLength) : token))
    .filter((token) => token.length >= tokenLength && !date.test(token))
  const whole = normalText(text)
  const all = whole.length >= leastWhole ? [whole, ...tokens] : tokens
  return all.filter((needle) => needle.length < runLength)
}

/** Returns the start of the next word after an index in a text in normal form; -1 if there is none. */
const nextWord = (normal: string, at: number): number => {
  const space = normal.indexOf(' ', at)
  return space < 0 ? -1 : space + 1
}

/**
 * Returns a function that finds words of the given texts in other texts. The words are: each run of words with at least 24 characters;
 * numbers, mail addresses and identifiers with digits of at least 6 characters; and whole texts of at least 12 characters. Case,
 * punctuation and white space do not count.
 */
export const createNeedleFinder = (
  leftOut: readonly LeftOutTexts[],
): ((texts: Iterable<string>) => WordRepetition | undefined) => {
  const positions = new Map<string, number | readonly number[]>()
  const lengths = new Map<string, readonly number[]>()
  const add = (needle: string, position: number): void => {
    const known = positions.get(needle)
    if (known === undefined) positions.set(needle, position)
    else if (listOf(known).length < mostPositions && !listOf(known).includes(position))
      positions.set(needle, [...listOf(known), position])
    const key = needle.slice(0, keyLength)
    const own = lengths.get(key)
    if (!own?.includes(needle.length)) lengths.set(key, [...(own ?? []), needle.length])
  }
  const step = stepFor(leftOut)
  let words = 0
  for (const { position, texts, leastWhole = wholeLength } of leftOut)
    for (const text of texts) {
      const normal = normalText(text)
      for (let start = 0; start >= 0 && start + runLength <= normal.length; start = nextWord(normal, start))
        if (words++ % step === 0) add(normal.slice(start, start + runLength), position)
      for (const needle of shortNeedles(text, leastWhole)) add(needle, position)
    }
  return (texts) => {
    const found = new Set<number>()
    let longest = ''
    for (const text of texts) {
      const normal = normalText(text)
      let run = { start: 0, end: -1 }
      for (let start = 0; start >= 0; start = nextWord(normal, start))
        for (const length of lengths.get(normal.slice(start, start + keyLength)) ?? []) {
          const end = start + length
          const needle = normal.slice(start, end)
          const of = positions.get(needle)
          if (of === undefined || !isWholeAt(normal, end, needle)) continue
          for (const position of listOf(of)) found.add(position)
          run = start <= run.end ? { start: run.start, end: Math.max(run.end, end) } : { start, end }
          if (run.end - run.start > longest.length) longest = normal.slice(run.start, run.end)
        }
    }
    return found.size > 0
      ? { of: [...found].toSorted((one, other) => one - other), excerpt: maskedText(longest) }
      : undefined
  }
}

const listOf = (of: number | readonly number[]): readonly number[] => (typeof of === 'number' ? [of] : of)

/** Reports whether a needle that ends at an index is complete: runs and long numbers may end within a word, other needles may not. */
const isWholeAt = (normal: string, end: number, needle: string): boolean =>
  needle.length === runLength ||
  (needle.length === digitsLength && /^\d+$/.test(needle)) ||
  end === normal.length ||
  normal[end] === ' '

const stepFor = (leftOut: readonly LeftOutTexts[]): number => {
  let characters = 0
  for (const { texts } of leftOut) for (const text of texts) characters += text.length
  // A word and its separator have at least two characters.
  return Math.max(1, Math.ceil(characters / 2 / mostRuns))
}
