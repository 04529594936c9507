import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { NewMessage } from '../../commands/command.ts'
import { acceptsData } from '../../events/accept.ts'
import { checkJson } from '../../events/check.ts'
import { dataSchemas } from '../../events/events.ts'
import { copyJson, type Fields, isFields, parseBoundedJson, tooDeep } from '../../events/json.ts'
import type { BadLineNote, ImportReport, Tally } from './plan.ts'

/** Returns the value if it is a non-empty string; otherwise undefined. */
export const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Pattern of times that are already in the stored form. It accepts only days 1 to 28, which every month has. */
const isoTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** Converts a date, given as text or in milliseconds, to ISO 8601 in UTC; undefined for anything else. */
export const timeOf = (value: unknown): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  if (typeof value === 'string' && isoTime.test(value)) return value
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** Returns a digest of 16 hex digits that is the same for equal JSON. */
export const digest = (value: unknown): string => hash('sha256', JSON.stringify(value) ?? '').slice(0, 16)

/**
 * Makes a conversation id from a text. Invalid characters become `-`, and the id begins with a letter or a digit, so that it cannot be
 * mistaken for a command-line option. If different texts might give the same id (other alphabets, another beginning, very long texts),
 * a digest of the text is appended.
 */
export const idOf = (text: string): string => {
  const fitting = text.replaceAll(/[^A-Za-z0-9._:-]/g, '-')
  const id = fitting.replace(/^[^A-Za-z0-9]+/, '')
  return id !== '' && id === fitting && id.length <= 200 && /^\p{ASCII}*$/u.test(text)
    ? id
    : `${id.slice(0, 170) || 'session'}-${digest(text)}`
}

/** One entry of a file. `line` is 1-based; `part` is the number of the object within its line, from 1. */
export interface FileEntry {
  readonly line: number
  readonly part?: number
  readonly fields: Fields
}

/** Returns the ref of an entry without an id, derived from its line. */
export const placeIn = ({ line, part = 1 }: FileEntry): string =>
  part === 1 ? `line-${line}` : `line-${line}.${part}`

// Texts for the notes in reports.
export const lostParent =
  'the parent of some entries is not in the file: each of them continues from the entry before it'
export const sameEntry = 'a repetition of an earlier entry'
export const otherEntry = 'another entry has the same id but different content: the first one is imported'

/** A collector of the outcome of each entry while a file is read. */
export interface ImportNotes {
  readonly mapped: (kind: string) => void
  readonly leftOut: (kind: string, reason: string) => void
  readonly bad: (line: number, problem: string) => void
  readonly note: (text: string) => void
  readonly report: () => ImportReport
  /** Returns a function, to be called once, that takes back everything collected since. */
  readonly mark: () => () => void
}

export const createImportNotes = (): ImportNotes => {
  let mapped = new Map<string, number>()
  let leftOut = new Map<string, Tally & { readonly reason: string }>()
  let badLines: BadLineNote[] = []
  let notes = new Set<string>()
  return {
    mapped: (kind) => mapped.set(kind, (mapped.get(kind) ?? 0) + 1),
    leftOut: (kind, reason) => {
      const key = `${kind}\n${reason}`
      leftOut.set(key, { kind, count: (leftOut.get(key)?.count ?? 0) + 1, reason })
    },
    bad: (line, problem) => badLines.push({ line, problem }),
    note: (text) => notes.add(text),
    report: () => ({
      mapped: [...mapped].map(([kind, count]) => ({ kind, count })),
      leftOut: [...leftOut.values()],
      badLines: badLines.toSorted((a, b) => a.line - b.line),
      notes: [...notes],
    }),
    mark: () => {
      const before = {
        mapped: new Map(mapped),
        leftOut: new Map(leftOut),
        badLines: [...badLines],
        notes: new Set(notes),
      }
      return () => {
        ;({ mapped, leftOut, badLines, notes } = before)
      }
    },
  }
}

/** A line of a file, without its line ending. `line` is 1-based. */
export interface FileLine {
  readonly line: number
  readonly text: string
  /** True if the line is the last one of the file and has no newline at its end. */
  readonly isOpen?: boolean
}

/** Length of a file's beginning that tells it from other files, in characters. */
const startLength = 4_096

/** The beginning of a file, from which the id of a session is made if the file names none. */
export interface FileStart {
  readonly add: (line: FileLine) => void
  readonly digest: () => string
}

export const createFileStart = (): FileStart => {
  let text = ''
  return {
    add: (line) => {
      if (text.length < startLength) text += `${line.text}\n`
    },
    digest: () => digest(text.slice(0, startLength)),
  }
}

/** A reader of a file in one format, line by line. Blank lines are passed to it as well. */
export interface LineReader<A> {
  readonly read: (line: FileLine) => void
  /**
   * Returns the outcome so far, without what only the end of the file decides. It may be called at any time. Absent if the format is
   * understood only as a whole.
   */
  readonly soFar?: () => A
  readonly finish: () => A
  /** Reports whether more lines may be read after `finish`, because the end of the file decides nothing. Absent: never. */
  readonly mayGoOn?: () => boolean
}

export function* linesOf(text: string): Generator<FileLine> {
  let line = 1
  for (let start = 0; start < text.length; line++) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    yield { line, text: text.slice(start, end), ...(newline < 0 && { isOpen: true }) }
    start = end + 1
  }
}

/**
 * Yields the JSON objects of a line: one, several if a writer left out the newline, or no object for a blank line. Text that is not
 * JSON is reported as bad and skipped; a complete object after it is read.
 */
export function* entriesIn(given: FileLine, notes: ImportNotes): Generator<FileEntry> {
  const { line } = given
  for (const [index, fields] of valuesOfLine(given, notes).entries())
    if (isFields(fields)) yield { line, part: index + 1, fields }
    else notes.bad(line, 'not a JSON object')
}

/** Returns the JSON values of a line. Text that is not JSON is reported as bad; complete objects after it are included. */
export const valuesOfLine = ({ line, text, isOpen }: FileLine, notes: ImportNotes): readonly unknown[] => {
  const values: unknown[] = []
  const wholeIn = searcher(mostEffort * text.length)
  for (let rest = text; rest.trim() !== '';) {
    const [nulls = ''] = /^\s*\0[\s\0]*/.exec(rest) ?? []
    if (nulls !== '') notes.bad(line, `${nulls.length} NUL bytes where an entry should begin`)
    const found = valuesOf(rest.slice(nulls.length))
    for (const value of found.values) values.push(value)
    const { problem } = found
    if (problem === undefined) break
    // A value that is nested too deeply is complete, and nothing comes after it. What is complete in an entry that is still being
    // written is a part of that entry.
    const isPart = tooDeep.test(problem) || (isOpen === true && isCutOff(found.rest, problem))
    const whole = isPart ? undefined : wholeIn(found.rest)
    if (nulls === '' || found.rest.trim() !== '')
      notes.bad(
        line,
        isOpen === true && whole === undefined
          ? 'cut off where the file ends: a program may still be writing it, so import it again later'
          : `not JSON (${problem})${whole === undefined ? '' : '; the complete entry that follows is read'}`,
      )
    if (whole === undefined) break
    rest = whole
  }
  return values
}

/** Maximum number of characters to parse when searching a damaged line for a complete object, as a multiple of the line's length. */
const mostEffort = 32

/**
 * Returns a function that skips the damaged beginning of a text and returns the rest, if the text ends with complete objects. All calls
 * of the function together parse about `effort` characters.
 */
const searcher = (effort: number) => {
  let most = effort
  return (text: string): string | undefined => {
    for (let at = text.indexOf('{"', 1); at > 0 && most > 0; at = text.indexOf('{"', at + 1)) {
      const parsed = parseAt(text, at)
      if (E.isRight(parsed)) return text.slice(at)
      const position = positionIn(parsed.left) ?? text.length - at
      const isWhole = /after JSON at/.test(parsed.left)
      if (isWhole && /^[\s\0]*\{"/.test(text.slice(at + position, at + position + 64))) return text.slice(at)
      most -= position + 1
    }
    return undefined
  }
}

/** Returns the consecutive JSON values at the beginning of a text, and the parser's message about the rest. */
export const valuesOf = (
  text: string,
): { readonly values: readonly unknown[]; readonly problem?: string; readonly rest: string } => {
  const whole = parseJson(text)
  if (E.isRight(whole)) return { values: [whole.right], rest: '' }
  const values: unknown[] = []
  for (let at = 0; at === 0 || at < text.length;) {
    const scanned = endOfValue(text, at)
    const value = scanned === undefined ? whole : parseJson(text.slice(at, scanned))
    if (scanned !== undefined && E.isRight(value)) {
      values.push(value.right)
      at = matchedAt(whitespace, text, scanned) ?? scanned
      continue
    }
    const parsed = at === 0 ? whole : parseAt(text, at)
    if (E.isRight(parsed)) return { values: [...values, parsed.right], rest: '' }
    const end = /after JSON at/.test(parsed.left) ? positionIn(parsed.left) : undefined
    const before = end === undefined ? parsed : parseJson(text.slice(at, at + end))
    if (E.isLeft(before)) return { values, problem: parsed.left, rest: text.slice(at) }
    values.push(before.right)
    at += end ?? 0
  }
  return { values, rest: '' }
}

const whitespace = /[ \t\n\r]*/y
const simple = /(?:-?(?:0|[1-9]\d*)|true|false|null)(?=[\s"[\]{},:]|$)/y
/** Pattern of the characters that determine the end of an object or an array. */
const marks = /["[\]{}]/g

/** Returns the end of a match that begins at this index; undefined if there is no match. */
const matchedAt = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** Returns the presumed end of the value that begins at this index, after whitespace; undefined if only the parser can find it. */
const endOfValue = (text: string, from: number): number | undefined => {
  const at = matchedAt(whitespace, text, from) ?? from
  if (!/["[{]/.test(text.charAt(at))) return matchedAt(simple, text, at)
  marks.lastIndex = at
  for (let depth = 0; ;) {
    const mark = marks.exec(text)?.[0]
    if (mark === undefined) return undefined
    if (mark === '"') {
      const end = endOfString(text, marks.lastIndex)
      if (end === undefined) return undefined
      marks.lastIndex = end
    } else depth += mark === '{' || mark === '[' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
}

/** Returns the index after the closing quote of the string whose first character is at this index. */
const endOfString = (text: string, from: number): number | undefined => {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (before >= from && text[before] === '\\') before--
    if ((quote - before) % 2 === 1) return quote + 1
  }
  return undefined
}

const positionIn = (complaint: string): number | undefined => {
  const [, position] = /at position (\d+)/.exec(complaint) ?? []
  return position === undefined ? undefined : Number(position)
}

/** Reports whether the parser's complaint is that a text ends too early. */
const isCutOff = (text: string, complaint: string): boolean =>
  /Unexpected end/.test(complaint) || (positionIn(complaint) ?? -1) >= text.trimEnd().length

const firstPart = 256
/** Number of characters at the end of a part in which an error may be caused by the cut rather than by the text. */
const margin = 16

/**
 * Like `parseJson`, but for the text from an index on. The time that the parser takes to report an error grows with the length of the
 * text, even if the error is near its start. Therefore only a part is parsed first, and a larger part if the result is inconclusive.
 */
const parseAt = (text: string, at: number): E.Either<string, unknown> => {
  for (let size = firstPart; ; size *= 4) {
    const parsed = parseJson(text.slice(at, at + size))
    if (at + size >= text.length) return parsed
    const position = E.isLeft(parsed) ? positionIn(parsed.left) : undefined
    if (position !== undefined && position < size - margin) return parsed
  }
}

/** Parses a JSON text. Returns its value or the parser's error message. */
export const parseJson = (text: string): E.Either<string, unknown> =>
  E.tryCatch(
    () => parseBoundedJson(text),
    (error) => (error instanceof Error ? error.message : String(error)),
  )

/** Returns the reason why a message cannot be stored; undefined if it can be stored. */
export const messageProblem = ({ role, content, messageId, origin }: NewMessage): string | undefined => {
  const data = { role, content: typeof content === 'string' ? [] : content, messageId, origin }
  const copied = copyJson(data)
  if (E.isRight(copied) && acceptsData('MessageAppended', copied.right)) return undefined
  const checked = checkJson(dataSchemas.MessageAppended, data)
  return E.isLeft(checked) ? checked.left.message : undefined
}
