import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { NewMessage } from '../commands/command.ts'
import { checkJson } from '../events/check.ts'
import { dataSchemas } from '../events/events.ts'
import { type Fields, isFields } from '../events/json.ts'
import type { BadLineNote, ImportReport, Tally } from './plan.ts'

/** The value, if it is a string with something in it. */
export const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** ISO 8601, UTC, of a date in text or in milliseconds; undefined for anything else. */
export const timeOf = (value: unknown): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** Short and the same for equal JSON: 16 hex digits. */
export const digest = (value: unknown): string => hash('sha256', JSON.stringify(value) ?? '').slice(0, 16)

/**
 * A conversation id of some text: what an id cannot hold becomes `-`, and it begins with a letter or a digit, as no option does. Where
 * that may leave two texts alike (letters of other alphabets, another beginning, very long ones), a digest of the text tells them apart.
 */
export const idOf = (text: string): string => {
  const fitting = text.replaceAll(/[^A-Za-z0-9._:-]/g, '-')
  const id = fitting.replace(/^[^A-Za-z0-9]+/, '')
  return id !== '' && id === fitting && id.length <= 200 && /^\p{ASCII}*$/u.test(text)
    ? id
    : `${id.slice(0, 170) || 'session'}-${digest(text)}`
}

/** One entry of a file. `line` is 1-based; `part` counts the objects of a line from 1. */
export interface Entry {
  readonly line: number
  readonly part?: number
  readonly fields: Fields
}

/** What names an entry that has no id of its own. */
export const placeIn = ({ line, part = 1 }: Entry): string =>
  part === 1 ? `line-${line}` : `line-${line}.${part}`

// What a file leaves to guess.
export const lostParent =
  'the parent of some entries is not in the file: they continue from what comes before them'
export const sameEntry = 'the same entry a second time'
export const otherEntry = 'another entry has its id, and other words: the first one is taken'

/** Takes note, while a file is read, of what becomes of its entries. */
export interface Notes {
  readonly mapped: (kind: string) => void
  readonly leftOut: (kind: string, reason: string) => void
  readonly bad: (line: number, problem: string) => void
  readonly note: (text: string) => void
  readonly report: () => ImportReport
}

export const takeNotes = (): Notes => {
  const mapped = new Map<string, number>()
  const leftOut = new Map<string, Tally & { readonly reason: string }>()
  const badLines: BadLineNote[] = []
  const notes = new Set<string>()
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
  }
}

/** A line of a file, without its end. `line` is 1-based. */
export interface Line {
  readonly line: number
  readonly text: string
}

/** Reads a file of one format, line by line, blank lines included. */
export interface LineReader<A> {
  readonly read: (line: Line) => void
  readonly finish: () => A
}

/** The lines of a text. */
export function* linesOf(text: string): Generator<Line> {
  let line = 1
  for (let start = 0; start < text.length; line++) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    yield { line, text: text.slice(start, end) }
    start = end + 1
  }
}

/**
 * The JSON objects of a line: one, or several where a writer left out the line's end; none of a blank line. What is not JSON is
 * noted as bad and passed over.
 */
export function* entriesIn({ line, text: json }: Line, notes: Notes): Generator<Entry> {
  if (json.trim() === '') return
  const { values, problem } = valuesOf(json)
  for (const [index, fields] of values.entries())
    if (isFields(fields)) yield { line, part: index + 1, fields }
    else notes.bad(line, 'not a JSON object')
  if (problem !== undefined) notes.bad(line, `not JSON (${problem})`)
}

/** The JSON values that follow one another in a text, and what the parser says of the rest. */
export const valuesOf = (
  text: string,
): { readonly values: readonly unknown[]; readonly problem?: string } => {
  const values: unknown[] = []
  for (let rest = text; ;) {
    const parsed = parseJson(rest)
    if (E.isRight(parsed)) return { values: [...values, parsed.right] }
    const end = /after JSON at position (\d+)/.exec(parsed.left)?.[1]
    const value = end === undefined ? E.left('') : parseJson(rest.slice(0, Number(end)))
    if (E.isLeft(value)) return { values, problem: parsed.left }
    values.push(value.right)
    rest = rest.slice(Number(end))
  }
}

/** The value of a JSON text, or the parser's complaint. */
export const parseJson = (text: string): E.Either<string, unknown> =>
  E.tryCatch(
    () => JSON.parse(text),
    (error) => (error instanceof Error ? error.message : String(error)),
  )

/** What makes a message one that cannot be stored, undefined if nothing does. */
export const messageProblem = ({ role, content, messageId, origin }: NewMessage): string | undefined => {
  const data = { role, content: typeof content === 'string' ? [] : content, messageId, origin }
  const checked = checkJson(dataSchemas.MessageAppended, data)
  return E.isLeft(checked) ? checked.left.message : undefined
}
