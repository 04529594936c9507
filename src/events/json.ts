import * as E from 'fp-ts/lib/Either.js'

/** A JSON object with unknown fields. */
export interface Fields {
  readonly [field: string]: unknown
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A problem in a value, with its location. `path` is written like code: `content[0].input.x`. */
export interface ValidationIssue {
  readonly path: string
  readonly problem: string
}

/** Formats a path of keys and indices in the way it is written in code. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  )

const maxDepth = 1_000
/**
 * Maximum nesting depth of a JSON text. It allows for the levels that a line or a request body adds around any value that can be
 * stored.
 */
export const mostLevels = 1_400

/**
 * Parses JSON text from an external source. Throws a `SyntaxError` if the text is not JSON or has more than `levels` levels. The parser
 * itself accepts a million levels, but code that walks through such a value, such as `JSON.stringify`, fails with a `RangeError`.
 */
export const parseBoundedJson = (text: string, levels: number = mostLevels): unknown => {
  const value: unknown = JSON.parse(text)
  // Each level takes at least two characters.
  if (text.length > 2 * levels && isDeeper(value, levels))
    throw new SyntaxError(`nested deeper than ${levels} levels`)
  return value
}

/** Matches the error message for a text with too many levels. */
export const tooDeep = /^nested deeper than/

const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((inner) => isDeeper(inner, levels - 1))
  for (const key in value) if (isDeeper((value as Fields)[key], levels - 1)) return true
  return false
}

/** Exception for a value that contains something other than JSON. It never leaves this file. */
class NotJson {
  readonly path: PropertyKey[] = []
  readonly problem: string
  constructor(problem: string) {
    this.problem = problem
  }
}

/**
 * Copies a JSON value, like `JSON.parse(JSON.stringify(value))` but without its silent losses. Non-finite numbers, BigInt, functions,
 * symbols, cycles, class instances (Map, Date, Buffer), holes in arrays, and anything with a `toJSON` of any kind are reported as
 * problems. Two things are accepted: a property whose value is `undefined` is omitted, and lone surrogates stay in strings (JSON
 * escapes them).
 *
 * Each property is read once, so a getter or a proxy can't show one value to a check and another to the disk: check and write
 * the copy.
 */
export const copyJson = (value: unknown): E.Either<ValidationIssue, Json> => {
  try {
    return E.right(copy(value, []))
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return E.left({ path: pathText(error.path), problem: error.problem })
  }
}

const copy = (value: unknown, open: object[]): Json => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new NotJson(`${value} is not a JSON number`)
    // `JSON.stringify` writes -0 as 0.
    return value === 0 ? 0 : value
  }
  if (typeof value !== 'object')
    throw new NotJson(`JSON cannot hold ${value === undefined ? 'undefined' : `a ${typeof value}`}`)
  if (open.includes(value)) throw new NotJson('the value contains itself')
  if (open.length > maxDepth) throw new NotJson(`nested deeper than ${maxDepth} levels`)
  open.push(value)
  const copied = Array.isArray(value) ? copyArray(value, open) : copyObject(value, open)
  open.pop()
  return copied
}

const nameOf = ({ constructor }: { readonly constructor?: unknown }): string =>
  typeof constructor === 'function' ? `a ${constructor.name}` : 'an object with a custom prototype'

/** Throws for an object with a `toJSON`, which `JSON.stringify` calls even if it is hidden or inherited. */
const refuseToJson = ({ toJSON }: { readonly toJSON?: unknown }): void => {
  if (typeof toJSON === 'function')
    throw new NotJson('a value with a toJSON method is not plain JSON: pass the result of the method instead')
}

const copyArray = (array: readonly unknown[], open: object[]): Json => {
  refuseToJson(array as { readonly toJSON?: unknown })
  const copied: Json[] = []
  const { length } = array
  for (let index = 0; index < length; index++) copied.push(copyAt(index, array[index], open))
  return copied
}

const copyObject = (object: object, open: object[]): Json => {
  const prototype: unknown = Object.getPrototypeOf(object)
  // The prototype of a plain object has no prototype itself, in this realm or another.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new NotJson(`${nameOf(object)} is not plain JSON`)
  refuseToJson(object)
  const copied: Record<string, Json> = {}
  for (const key of Object.keys(object)) {
    const value: unknown = (object as Record<string, unknown>)[key]
    if (value === undefined) continue
    // An assignment would set the prototype.
    if (key === '__proto__') Object.defineProperty(copied, key, { ...plain, value: copyAt(key, value, open) })
    else copied[key] = copyAt(key, value, open)
  }
  return copied
}

const plain = { configurable: true, enumerable: true, writable: true }

const copyAt = (key: PropertyKey, value: unknown, open: object[]): Json => {
  try {
    return copy(value, open)
  } catch (error) {
    if (error instanceof NotJson) error.path.unshift(key)
    throw error
  }
}
