import * as E from 'fp-ts/lib/Either.js'

/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Where in a value something is wrong, and what. `path` is written like code: `content[0].input.x`. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

/** Writes a path of keys and indices as one would in code. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  )

const maxDepth = 1_000

/** Thrown inside this file only, where a value holds what JSON cannot. */
class NotJson {
  readonly path: PropertyKey[] = []
  readonly problem: string
  constructor(problem: string) {
    this.problem = problem
  }
}

/**
 * A copy of a value that is JSON: what `JSON.parse(JSON.stringify(value))` would be, without its silent losses. Non-finite
 * numbers, BigInt, functions, symbols, cycles, class instances (Map, Date, Buffer) and holes in arrays are problems. Two things
 * pass: a property whose value is `undefined` is left out, as everyone expects, and lone surrogates stay in strings (JSON
 * escapes them).
 */
export const copyJson = (value: unknown): E.Either<Problem, Json> => {
  try {
    return E.right(copy(value, []))
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return E.left({ path: pathText(error.path), problem: error.problem })
  }
}

/** Whether a value is surely JSON, and so needs no copy to be stringified as `copyJson` would have it. */
export const isJson = (value: unknown, depth = 0): boolean => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  // What contains itself is deep without end.
  if (typeof value !== 'object' || depth > maxDepth) return false
  return Array.isArray(value) ? isJsonArray(value, depth + 1) : isJsonObject(value, depth + 1)
}

const isJsonArray = (array: readonly unknown[], depth: number): boolean => {
  for (let index = 0; index < array.length; index++) if (!isJson(array[index], depth)) return false
  return true
}

const isJsonObject = (object: object, depth: number): boolean => {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const key of Object.keys(object)) {
    const value: unknown = (object as Record<string, unknown>)[key]
    if (value !== undefined && !isJson(value, depth)) return false
  }
  return true
}

const copy = (value: unknown, open: object[]): Json => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new NotJson(`${value} is not a JSON number`)
    // JSON knows one zero.
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
  typeof constructor === 'function' ? `a ${constructor.name}` : 'an object with a prototype of its own'

const copyArray = (array: readonly unknown[], open: object[]): Json => {
  const copied: Json[] = []
  for (let index = 0; index < array.length; index++) copied.push(copyAt(index, array[index], open))
  return copied
}

const copyObject = (object: object, open: object[]): Json => {
  const prototype: unknown = Object.getPrototypeOf(object)
  // The prototype of a plain object, of this realm or another, has none itself.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new NotJson(`${nameOf(object)} is not plain JSON`)
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
