/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Where in a value something is wrong, and what. `path` is written like code: `content[0].input.x`. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

const maxDepth = 1_000

/** Writes a path of keys and indices as one would in code. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  )

/**
 * The first thing in `value` that JSON cannot hold, or undefined.
 *
 * Stricter than `JSON.stringify`, which loses such things without a word: non-finite numbers, BigInt, functions, symbols,
 * cycles, class instances (Map, Date, Buffer) and holes in arrays are problems. Two things pass: a property whose value is
 * `undefined` (it is left out, as everyone expects) and lone surrogates in strings (JSON escapes them).
 */
export const jsonProblem = (value: unknown): Problem | undefined => {
  const found = inspect(value, [], new Set())
  return found && { path: pathText(found.path), problem: found.problem }
}

interface Found {
  readonly path: readonly PropertyKey[]
  readonly problem: string
}

const inspect = (value: unknown, path: PropertyKey[], open: Set<object>): Found | undefined => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return undefined
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : { path: [...path], problem: `${value} is not a JSON number` }
  if (typeof value !== 'object') return { path: [...path], problem: `JSON cannot hold a ${typeof value}` }
  if (open.has(value)) return { path: [...path], problem: 'the value contains itself' }
  if (path.length > maxDepth) return { path: [], problem: `nested deeper than ${maxDepth} levels` }
  open.add(value)
  const found = Array.isArray(value) ? inspectArray(value, path, open) : inspectObject(value, path, open)
  open.delete(value)
  return found
}

const inspectArray = (
  array: readonly unknown[],
  path: PropertyKey[],
  open: Set<object>,
): Found | undefined => {
  for (let index = 0; index < array.length; index++) {
    path.push(index)
    const found = inspect(array[index], path, open)
    path.pop()
    if (found) return found
  }
  return undefined
}

const inspectObject = (object: object, path: PropertyKey[], open: Set<object>): Found | undefined => {
  const prototype: unknown = Object.getPrototypeOf(object)
  // An object made by JSON.parse or in another realm has a prototype whose own prototype is null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    return { path: [...path], problem: `a ${object.constructor.name} is not plain JSON` }
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue
    path.push(key)
    const found = inspect(value, path, open)
    path.pop()
    if (found) return found
  }
  return undefined
}
