import * as E from 'fp-ts/lib/Either.js'
import {
  emptyFile,
  type UnknownFormat,
  unknownFormat,
  type UnsupportedFormat,
  unsupportedFormat,
} from './errors.ts'
import { alikeIn, foreignIn, foreignText } from './foreign.ts'
import { documentFormats, lineFormats } from './built-in.ts'
import { geminiCli } from './gemini-cli.ts'
import { messagesIn } from './documents.ts'
import { palimpsest } from './palimpsest.ts'
import type { BuiltInFormat as Format } from './plan.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { isItem } from './responses.ts'
import { linesOf, parseJson, valuesOf } from './source.ts'

type Recognised = E.Either<UnknownFormat | UnsupportedFormat, Format>

/**
 * Recognises the format of a session file from one of its lines; returns undefined if the line does not reveal the format. Errors:
 * `UnsupportedFormat`.
 */
export const recogniseLine = (line: string): Recognised | undefined => {
  for (const fields of valuesOf(line.replace(/^[\s\0]+/, '')).values.filter(isFields)) {
    const alike = alikeIn(fields)
    const own = alike === undefined ? formatOfLine(fields) : undefined
    if (own) return E.right(own.name)
    const foreign = alike ?? foreignIn(fields)
    if (foreign !== undefined) return E.left(unsupportedFormat(foreign))
    const format = Object.hasOwn(fields, 'messages') ? formatOfDocument(fields) : undefined
    if (format) return E.right(format)
  }
  return undefined
}

/** Recognises the format of a session file from its whole text. Errors: `UnknownFormat`, `UnsupportedFormat`. */
export const recogniseText = (text: string): Recognised => {
  if (text.trim() === '') return E.left(emptyFile)
  const whole = parseJson(text)
  const foreign = E.isRight(whole) ? foreignIn(whole.right) : foreignText(text)
  if (foreign !== undefined) return E.left(unsupportedFormat(foreign))
  const torn = isLines(text) ? undefined : formatOfTorn(text)
  const format = E.isRight(whole) ? formatOfDocument(whole.right) : torn
  return format ? E.right(format) : E.left(unknownFormat('not a session in any known format'))
}

/** Reports whether the first line is complete JSON, and so not part of a truncated document. */
const isLines = (text: string): boolean => {
  for (const line of linesOf(text)) if (line.text.trim() !== '') return valuesOf(line.text).values.length > 0
  return false
}

const formatOfLine = (fields: Fields): { readonly name: Format } | undefined =>
  [palimpsest, ...lineFormats].find(({ recognises }) => recognises(fields))

const formatOfDocument = (document: unknown): Format | undefined => {
  if (isFields(document)) return geminiCli.recognises(document) ? geminiCli.name : formatOfOwner(document)
  if (!Array.isArray(document)) return undefined
  const list = document.filter(isFields)
  if (list.some((item) => Array.isArray(item['traj']))) return 'openai'
  const owner = list.find((item) => formatOfOwner(item) !== undefined)
  if (owner) return formatOfOwner(owner)
  return list.some((item) => 'role' in item || isItem(item)) ? formatOfRequest({}, list) : undefined
}

const formatOfOwner = (owner: Fields): Format | undefined => {
  const messages = messagesIn(owner)
  return Array.isArray(messages) && !('traj' in owner) ? formatOfRequest(owner, messages) : undefined
}

const formatOfRequest = (owner: Fields, list: readonly unknown[]): Format | undefined => {
  const messages = list.filter(isFields)
  return documentFormats.find(({ recognises }) => recognises(messages, owner))?.name
}

/** Returns the format of a truncated document, so that its reader can report the line at which the document is cut off. */
const formatOfTorn = (text: string): Format | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  if (/"schema_version"\s*:\s*"ATIF-v/.test(text)) return 'atif'
  if (/"projectHash"/.test(text)) return 'gemini-cli'
  if (/"traj"|"tool_calls"|"role"\s*:\s*"(?:tool|developer)"/.test(text)) return 'openai'
  if (/"role"/.test(text)) return /"ts"\s*:\s*\d/.test(text) ? 'roo' : 'anthropic'
  return undefined
}
