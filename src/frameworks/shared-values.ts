import { type Fields, isFields } from '../events/json.ts'

// A message of a framework says much that its blocks in the conversation say, too. Such values are stored once, in the blocks; in the
// message's own form, a reference takes their place.

/** Names the reference's key. An object of the message that has this key is wrapped, so that it is not taken for a reference. */
const mark = '$block'
/** Minimum length of a value's JSON from which a reference is shorter. */
const shortest = 40

/** A reference: the path of a value in the source, and how to make the message's value from it. */
interface BlockReference {
  readonly [mark]: readonly (string | number)[]
  /** True if the source has the value as JSON text. */
  readonly json?: true
  /** True if the value is the JSON text of the source's. */
  readonly text?: true
  /** Text that comes before the value of the source. */
  readonly before?: string
}

/** Returns a copy of a value in which references take the place of the values that the source has, too. */
export const withReferences = (value: unknown, source: unknown): unknown => {
  const known = pathsIn(source)
  const packed = (inner: unknown): unknown => {
    const json = JSON.stringify(inner)
    if (json.length < shortest && !json.includes(mark)) return inner
    const found = referenceTo(inner, json, known)
    if (found) return found
    if (Array.isArray(inner)) return inner.map(packed)
    if (!isFields(inner)) return inner
    return Object.hasOwn(inner, mark) ? { [mark]: null, value: inner } : mapFields(inner, packed)
  }
  return packed(value)
}

/** Returns the value that `withReferences` was given; undefined if the source lacks a value that it had then. */
export const withoutReferences = (packed: unknown, source: unknown): unknown => {
  let isWhole = true
  const resolved = ({ [mark]: path, json, text, before }: BlockReference): unknown => {
    const value = path.reduce<unknown>(
      (at, key) => (at as Record<string | number, unknown> | undefined)?.[key],
      source,
    )
    if (value === undefined || ((json || before !== undefined) && typeof value !== 'string')) isWhole = false
    if (!isWhole) return undefined
    if (text) return JSON.stringify(value)
    if (before !== undefined) return before + (value as string)
    return json ? parsed(value as string) : value
  }
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      isWhole = false
      return undefined
    }
  }
  const unpacked = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(unpacked)
    if (!isFields(inner)) return inner
    if (!Object.hasOwn(inner, mark)) return mapFields(inner, unpacked)
    return inner[mark] === null ? inner['value'] : resolved(inner as unknown as BlockReference)
  }
  const value = unpacked(packed)
  return isWhole ? value : undefined
}

const referenceTo = (
  value: unknown,
  json: string,
  known: ReadonlyMap<string, BlockReference[typeof mark]>,
): BlockReference | undefined => {
  const same = known.get(json)
  if (same) return { [mark]: same }
  if (typeof value !== 'string') {
    const text = known.get(JSON.stringify(json))
    return text && { [mark]: text, json: true }
  }
  const parsed = known.get(value)
  if (parsed) return { [mark]: parsed, text: true }
  const [before] = /^data:[^,]{0,200};base64,/.exec(value) ?? []
  if (before === undefined) return undefined
  const data = known.get(JSON.stringify(value.slice(before.length)))
  return data && { [mark]: data, before }
}

/** Returns the path of every large value in a source, by the value's JSON. */
const pathsIn = (source: unknown): ReadonlyMap<string, BlockReference[typeof mark]> => {
  const paths = new Map<string, BlockReference[typeof mark]>()
  const add = (value: unknown, path: BlockReference[typeof mark]): void => {
    const json = JSON.stringify(value)
    if (json.length < shortest) return
    if (!paths.has(json)) paths.set(json, path)
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value))
      if (key !== '__proto__') add(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }
  add(source, [])
  return paths
}

const mapFields = (fields: Fields, map: (value: unknown) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, map(value)]))
