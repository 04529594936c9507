import { isFields } from '../events/json.ts'

/** An entry of Claude Code's transcript: any JSON object with a `type`. */
export interface SessionEntry {
  readonly type: string
  readonly uuid?: string
  readonly timestamp?: string
  readonly [field: string]: unknown
}

/** An entry and its line in the transcript, without the newline. */
export interface SessionLine {
  readonly text: string
  readonly entry: SessionEntry
}

export const toLine = (entry: SessionEntry): SessionLine => {
  const text = JSON.stringify(entry)
  return { text, entry: JSON.parse(text) as SessionEntry }
}

export const textOf = (lines: readonly SessionLine[]): string => lines.map(({ text }) => `${text}\n`).join('')

/** Returns the lines of a transcript. Lines that are no entries, such as one that is still being written, are left out. */
export const linesIn = (transcript: string): readonly SessionLine[] =>
  transcript.split('\n').flatMap((text): readonly SessionLine[] => {
    try {
      const entry: unknown = JSON.parse(text)
      return isFields(entry) && typeof entry['type'] === 'string'
        ? [{ text, entry: entry as SessionEntry }]
        : []
    } catch {
      return []
    }
  })

export const uuidsOf = (lines: readonly SessionLine[]): Set<string> =>
  new Set(lines.flatMap(({ entry: { uuid } }) => (typeof uuid === 'string' ? [uuid] : [])))

/** Returns the lines that are not known yet, each uuid once. An entry without uuid is always new. */
export const newLines = (
  lines: readonly SessionLine[],
  known: ReadonlySet<string>,
): readonly SessionLine[] => {
  const seen = new Set<string>()
  return lines.filter(({ entry: { uuid } }) => {
    if (typeof uuid !== 'string') return true
    if (known.has(uuid) || seen.has(uuid)) return false
    seen.add(uuid)
    return true
  })
}

/** Reports whether one of the lines continues an entry that is neither known nor among them: entries before it are missing. */
export const hasGap = (lines: readonly SessionLine[], known: ReadonlySet<string>): boolean => {
  const own = uuidsOf(lines)
  return lines.some(
    ({ entry: { parentUuid } }) =>
      typeof parentUuid === 'string' && !known.has(parentUuid) && !own.has(parentUuid),
  )
}

/** The lines of a batch from the first known one to the last, and the others. */
interface SplitBatch {
  readonly inner: readonly SessionLine[]
  readonly outer: readonly SessionLine[]
}

/** Splits a batch whose new lines belong between known ones, as if a transcript is imported that has gaps in the store. */
export const splitBatch = (lines: readonly SessionLine[], known: ReadonlySet<string>): SplitBatch => {
  const isKnown = ({ entry: { uuid } }: SessionLine): boolean => typeof uuid === 'string' && known.has(uuid)
  const [first, end] = [lines.findIndex(isKnown), lines.findLastIndex(isKnown) + 1]
  const inner = lines.slice(Math.max(first, 0), end)
  const isBetween = inner.some((line) => typeof line.entry.uuid === 'string' && !isKnown(line))
  return isBetween
    ? { inner, outer: [...lines.slice(0, first), ...lines.slice(end)] }
    : { inner: [], outer: lines }
}

/** Returns the lines of another copy that come before these lines. */
export const linesBefore = (
  copy: readonly SessionLine[],
  lines: readonly SessionLine[],
): readonly SessionLine[] => {
  const own = uuidsOf(lines)
  const end = copy.findIndex(({ entry: { uuid } }) => typeof uuid === 'string' && own.has(uuid))
  const before = copy.slice(0, end < 0 ? copy.length : end)
  // Entries without uuid, at the beginning of the lines.
  let more = lines.findIndex(({ entry: { uuid } }) => typeof uuid === 'string')
  while (more > 0 && before.at(-1)?.text === lines[more - 1]?.text) {
    before.pop()
    more--
  }
  return before
}

/**
 * Merges another copy of a transcript into it: each line that it lacks comes after the line that it comes after in the copy. Of equal
 * entries without uuid, as many are added as the copy has more. All lines of the transcript stay, in their order.
 */
export const mergeLines = (
  lines: readonly SessionLine[],
  copy: readonly SessionLine[],
): readonly SessionLine[] => {
  const places = new Map(identified(lines).map((id, index) => [id, index]))
  const ids = identified(copy)
  const first = ids.map((id) => places.get(id)).find((place) => place !== undefined)
  /** Lines to add after each line; -1: before the first one. */
  const added = new Map<number, SessionLine[]>()
  let place = (first ?? lines.length) - 1
  for (const [index, line] of copy.entries()) {
    const known = places.get(ids[index] ?? '')
    // A session may record an entry again later.
    if (known !== undefined) place = Math.max(place, known)
    else {
      places.set(ids[index] ?? '', place)
      const more = added.get(place)
      if (more) more.push(line)
      else added.set(place, [line])
    }
  }
  return [...(added.get(-1) ?? []), ...lines.flatMap((line, index) => [line, ...(added.get(index) ?? [])])]
}

/** Returns what identifies each line: its uuid, or else its text and how often the text came before. */
const identified = (lines: readonly SessionLine[]): readonly string[] => {
  const counts = new Map<string, number>()
  return lines.map(({ text, entry: { uuid } }) => {
    if (typeof uuid === 'string') return uuid
    const count = counts.get(text) ?? 0
    counts.set(text, count + 1)
    return `${count} ${text}`
  })
}
