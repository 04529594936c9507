import { rangesOf } from '../events/ranges.ts'
import type pc from 'picocolors'
import { visible } from '../transfer/formats/visible.ts'

type Colors = ReturnType<typeof pc.createColors>

/** A span of text in a line, and its colour on a terminal. A span marked `whole` is never cut, as users copy it. */
export type TextSpan = readonly [text: string, paint?: Paint, isWhole?: 'whole']
/** Meaning of a span of text, which determines its colour. */
export type Paint =
  | 'position'
  | 'user'
  | 'assistant'
  | 'system'
  | 'marker'
  | 'call'
  | 'warning'
  | 'dim'
  | 'bold'

const paints = {
  position: 'yellow',
  user: 'green',
  assistant: 'blue',
  system: 'cyan',
  marker: 'magenta',
  call: 'cyan',
  warning: 'red',
  dim: 'dim',
  bold: 'bold',
} as const satisfies Readonly<Record<Paint, keyof Colors>>

const wide =
  /\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u
let segmenter: Intl.Segmenter | undefined
/**
 * Splits a text into user-perceived characters. The segmenter is created on first use: its construction is slow, and most texts are not
 * cut.
 */
const segmentsOf = (text: string): Intl.Segments =>
  (segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })).segment(text)

/**
 * Returns the number of columns that a text occupies on a terminal: two for an East Asian character or an emoji, zero for a combining
 * mark.
 */
export const widthOf = (text: string): number => {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmentsOf(text)) width += wide.test(segment) ? 2 : 1
  return width
}

export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - widthOf(text)))

/** Cuts a text to a number of columns, ending it with an ellipsis if it was longer. */
export const cutToWidth = (text: string, columns: number): string => {
  if (columns === Infinity) return text
  // Leaves room for long grapheme clusters; a text with even longer ones is cut anyway.
  const start = text.slice(0, columns * 16)
  if (start.length === text.length && widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of segmentsOf(start)) {
    width += wide.test(segment) ? 2 : 1
    if (width >= columns) break
    kept += segment
  }
  return columns > 0 ? `${kept.replace(/[\s…]+$/, '')}…` : ''
}

/** Cuts a text at its start to a number of columns, beginning it with an ellipsis if it was longer. */
export const cutStart = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of [...segmentsOf(text)].toReversed()) {
    width += wide.test(segment) ? 2 : 1
    if (width >= columns) break
    kept = segment + kept
  }
  return columns > 0 ? `…${kept.replace(/^[\s…]+/, '')}` : ''
}

/** Cuts a text in its middle to a number of columns: an error begins with what failed, and ends with advice. */
export const cutMiddle = (text: string, columns: number): string => {
  if (cutToWidth(text, columns) === text) return text
  const end = Math.floor(columns / 2)
  return cutToWidth(text, columns - end) + cutStart(text.slice(-end * 16), end).replace(/^…/, '')
}

/**
 * Wraps a text at its spaces into lines of at most `columns` columns. A longer word, such as a path, gets a line of its own and is not
 * cut, as users may copy it.
 */
export const linesOf = (text: string, columns: number): readonly string[] => {
  const lines: string[] = []
  for (const word of visible(text).split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= columns)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/**
 * Escapes control characters in the spans, colours the spans, and joins them into one line. Spans that are not `whole` are cut so that
 * the line fits into `columns`, provided that the `whole` ones leave room.
 */
export const paintLine = (parts: readonly TextSpan[], columns: number, colors: Colors): string => {
  const texts = parts.map(([text]) => visible(text))
  const isWhole = (index: number): boolean => parts[index]?.[2] === 'whole'
  let left = texts.reduce((room, text, index) => (isWhole(index) ? room - widthOf(text) : room), columns)
  let isCut = false
  let line = ''
  for (const [index, text] of texts.entries()) {
    if (isCut && !isWhole(index)) continue
    const shown = isWhole(index) ? text : cutToWidth(text, left)
    const paint = parts[index]?.[1]
    line += paint && shown.trim() !== '' ? colors[paints[paint]](shown) : shown
    if (!isWhole(index) && left !== Infinity) left -= widthOf(shown)
    isCut ||= shown !== text
  }
  return line.trimEnd()
}

/** Formats a count with its noun, such as `1 message`, `2 messages` or `12,000 messages`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count < 1_000 ? count : count.toLocaleString('en')} ${count === 1 ? noun : nouns}`

/** Formats a number of tokens, in thousands if it is large, such as `850 tokens` or `9.4k tokens`. */
/** Names up to ten conversations, and the number of others. */
export const idsText = (ids: readonly string[]): string =>
  `${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}`

export const tokensText = (count: number): string => `${thousands(count)} tokens`
/** Formats a count, in thousands if it is large, such as `850`, `9.4k` or `120k`. */
export const thousands = (count: number): string =>
  count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 100_000 ? 1 : 0)}k`

/** Formats a count in thousands or millions if it is large, such as `850`, `9.4k`, `120k` or `15.7M`. */
export const compact = (count: number): string =>
  count < 999_500 ? thousands(count) : `${(count / 1_000_000).toFixed(count < 99_950_000 ? 1 : 0)}M`

/** Formats ascending positions, with consecutive positions as ranges: `0..9, 15..21`. */
export const rangesText = (positions: readonly number[]): string =>
  rangesOf(positions).map(rangeText).join(', ')

/** Formats a range: `5..9`, or `5` if it is a single position. */
export const rangeText = ({ first, last }: { readonly first: number; readonly last: number }): string =>
  first === last ? String(first) : `${first}..${last}`

/**
 * Formats the time elapsed since `time` in the largest unit: `12 s`, `3 min`, `5 h`, `2 d`. The result is at least 0 s, even if clocks
 * differ.
 */
export const ageText = (time: string): string => durationText(Date.now() - Date.parse(time))

/** Formats a time as its age if it is less than a day old, `3 min ago`, otherwise as a date in UTC, `2026-11-21`. */
export const recentText = (time: string): string =>
  Date.now() - Date.parse(time) < 86_400_000 ? `${ageText(time)} ago` : time.slice(0, 10)

/** Formats the time left until a time, like `ageText`. */
export const untilText = (time: string): string => durationText(Date.parse(time) - Date.now())

const durationText = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`
}

/** Quotes a word for a shell if necessary. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
