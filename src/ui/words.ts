import type { EventKind, Workspace } from '../core.ts'

// Formatting of numbers, sizes, times and event kinds.

const grouped = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Formats a number: `41,233`. */
export const number = (value: number): string => grouped.format(value)

/** Formats a position; returns "the beginning" for -1, which is before the first event. */
export const placeOf = (position: number): string => (position < 0 ? 'the beginning' : number(position))

/** Formats a number briefly: `133k`, `1.2M`. */
export const brief = (value: number): string => short.format(value).replace('K', 'k')

/** Formats a count with its noun: `1 message`, `3 messages`. Pass irregular plurals as `many`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`

/** Formats a size in bytes: `663 B`, `12.4 kB`, `5 MB`. */
export const size = (bytes: number): string => {
  if (bytes < 1_000) return `${bytes} B`
  const [value, unit] = bytes < 999_950 ? [bytes / 1_000, 'kB'] : [bytes / 1_000_000, 'MB']
  return `${value < 100 ? Number(value.toFixed(1)) : number(Math.round(value))} ${unit}`
}

/** Formats US dollars: `$0.12`. Amounts below one cent have two significant digits: `$0.0055`. */
export const dollars = (usd: number): string =>
  `$${usd > 0 && usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`

/**
 * Formats a percentage: `94 %`. Shares near 0 or 100 % are never rounded to it: `< 1 %`, `> 99 %`. Returns an empty string if `whole`
 * is not positive.
 */
export const percent = (part: number, whole: number): string => {
  if (whole <= 0) return ''
  const rounded = Math.round((100 * part) / whole)
  if (rounded === 0 && part > 0) return '< 1 %'
  return rounded === 100 && part < whole ? '> 99 %' : `${rounded} %`
}

const two = (value: number): string => String(value).padStart(2, '0')
const dayOf = (date: Date): string =>
  `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`

/** Formats a time of day in the user's time zone: `22:31:35`. */
export const clock = (time: number | string): string => {
  const date = new Date(time)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}
/** Formats a date and time in the user's time zone: `2026-11-21 22:31:35`. */
export const moment = (time: number | string): string => `${dayOf(new Date(time))} ${clock(time)}`

const steps = [
  [60, 1, 's'],
  [3_600, 60, 'min'],
  [86_400, 3_600, 'h'],
  [30 * 86_400, 86_400, 'd'],
] as const

/** Formats the time at which content was erased; undefined if it was not. */
export const erasedText = (time: string | undefined): string | undefined =>
  time === undefined ? undefined : `erased ${moment(time)}`

/** Formats the time elapsed until `now`: `2 s ago`, `3 d ago`. After 30 days, returns the date. */
export const ago = (time: number | string, now: number): string => {
  const seconds = Math.max(0, Math.round((now - new Date(time).getTime()) / 1_000))
  const step = steps.find(([below]) => seconds < below)
  return step ? `${Math.floor(seconds / step[1])} ${step[2]} ago` : dayOf(new Date(time))
}

const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short' })
const dayAndMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Formats the time of the last activity, the shorter the newer: `now`, `3 min ago`, `14:05`, `Fri 18:40`, `4 May`, `4 May 2025`. */
export const lastActive = (time: string, now: number): string => {
  const [date, today] = [new Date(time), new Date(now)]
  const minutes = Math.floor((now - date.getTime()) / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min ago`
  const at = clock(time).slice(0, 5)
  if (dayOf(date) === dayOf(today)) return at
  if (minutes < 6 * 24 * 60) return `${weekday.format(date)} ${at}`
  const day = dayAndMonth.format(date)
  return date.getFullYear() === today.getFullYear() ? day : `${day} ${date.getFullYear()}`
}

/** Formats a duration in milliseconds: `240 ms`, `4.2 s`, `3 min 5 s`, `2 h 4 min`. */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

/** Formats a duration in milliseconds for a column: `240 ms`, `7.3 s`, `73 s`, `16 min`, `3.4 h`, `172 d`. */
export const shortDuration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} d`
}

const uuid = /\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/gi
/** Shortens an id: each UUID in it to its first eight digits; another id only if it is very long. */
export const shortId = (id: string): string => {
  const named = id.replaceAll(uuid, (whole) => whole.slice(0, 8))
  return named.length > 48 ? `${named.slice(0, 47)}…` : named
}

/** Shortens the name of a model: without its family's name and its date, which are the same in a whole column. */
export const shortModel = (model: string): string => model.replace(/^claude-/, '').replace(/-20\d{6}$/, '')

/** Names of event kinds, by their letters in the outline. */
export const kinds = {
  u: 'user',
  r: 'tool result',
  a: 'assistant',
  c: 'tool call',
  s: 'system',
  C: 'condensed',
  T: 'truncated',
  W: 'rewind',
  R: 'restore',
  K: 'configuration',
  E: 'erasure',
  '-': 'other',
} as const satisfies Readonly<Record<EventKind, string>>
export const isKind = (letter: string | undefined): letter is EventKind =>
  letter !== undefined && Object.hasOwn(kinds, letter)
/** Returns the name of an event kind from its letter; `other` for an unknown letter. */
export const kindOf = (letter: string | undefined): string => kinds[isKind(letter) ? letter : '-']

/** Describes the state of the files, as on the command line (projections/workspace.ts, which the page does not load). */
export const workspaceText = ({ commit, dirty }: Workspace): string =>
  `${commit.slice(0, 7)}${dirty ? ', with changes that were not committed' : ''}`

/** Returns the command that brings the files to a recorded commit. It first puts changes aside that are not committed. */
export const checkoutCommand = ({ commit }: Workspace): string =>
  `git stash && git switch --detach ${commit.slice(0, 12)}`

const sources: Readonly<Record<string, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  copilot: 'Copilot CLI',
  'gemini-cli': 'Gemini CLI',
  roo: 'Roo Code',
  openai: 'Chat Completions',
  anthropic: 'Messages API',
  responses: 'Responses API',
  gemini: 'Gemini API',
  'ai-sdk': 'AI SDK',
  atif: 'ATIF',
}

/** Returns the name of the program or format from which a conversation was imported. */
export const sourceName = (format: string): string => sources[format] ?? format
