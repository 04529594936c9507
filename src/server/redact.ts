/** What stands in place of what was redacted. */
export const mark = '[redacted]'

/** What says what something is, and to what it belongs. */
const identifying: ReadonlySet<string> = new Set(
  'type id role kind method tool_use_id call conversation from relation messageId commandId requestId starts prev hash digest media_type time'.split(
    ' ',
  ),
)

/** What is in these has a shape of its own: there, names say nothing, and numbers may be anybody's. */
const free: readonly string[] = ['input', 'input_schema', 'parameters']

export interface Redacted<A> {
  readonly value: A
  /** How many texts, numbers and names of fields were changed. */
  readonly places: number
}

/** Names rather than says something: of what kind it is. */
const kinds: ReadonlySet<string> = new Set(['type', 'role', 'kind'])

/** Any of these texts, the longest first: all at once, so that none of them is looked for in a mark. */
export const anyOf = (texts: readonly string[]): RegExp =>
  new RegExp(
    texts
      .toSorted((one, other) => other.length - one.length)
      .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
      .join('|'),
  )

/** A copy of a value in which the mark stands for each of these texts, also in ids; the value itself, without texts. */
export const redactor = (texts: readonly string[]): (<A>(value: A) => A) => {
  if (texts.length === 0) return (value) => value
  const pattern = anyOf(texts)
  return (value) => redacted(value, pattern, { kept: kinds }).value
}

interface Bounds {
  /** Names of fields whose content has a shape of its own too. */
  readonly alsoFree?: readonly string[]
  /** Names of fields whose texts stay. Default: those that say what something is, and to what it belongs. */
  readonly kept?: ReadonlySet<string>
}

/**
 * The same JSON with every match in its texts replaced by the mark; in inputs, schemas and other free data also in numbers and in the names
 * of fields. Ids stay, but in those. No recursion: inputs may be nested deeply.
 */
export const redacted = <A>(
  value: A,
  pattern: RegExp,
  { alsoFree = [], kept = identifying }: Bounds = {},
): Redacted<A> => {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  const isFreeIn = new Set([...free, ...alsoFree])
  let places = 0
  const clean = (text: string): string => {
    const now = text.replaceAll(every, () => mark)
    if (now !== text) places += 1
    return now
  }
  const leaf = (given: unknown, key: string, isFree: boolean): unknown => {
    if (typeof given === 'string') return !isFree && kept.has(key) ? given : clean(given)
    if (typeof given !== 'number' || !isFree) return given
    const now = clean(String(given))
    return now === String(given) ? given : now
  }
  const whole: Fields = {}
  const open: Step[] = [{ given: value, into: whole, key: 'value', isFree: false }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { given, into, key } = next
    const isFree = next.isFree || isFreeIn.has(key)
    if (typeof given !== 'object' || given === null) {
      into[key] = leaf(given, key, isFree)
      continue
    }
    const isList = Array.isArray(given)
    const made = (isList ? [] : Object.create(null)) as Fields
    into[key] = made
    for (const [name, inner] of Object.entries(given)) {
      const named = isFree && !isList ? freeName(made, clean(name)) : name
      // In the order in which it was.
      made[named] = undefined
      open.push({ given: inner, into: made, key: named, isFree })
    }
  }
  return { value: whole['value'] as A, places }
}

type Fields = Record<string, unknown>

/** Two names may become the same. */
const freeName = (fields: Fields, name: string): string => {
  let own = name
  for (let n = 2; own in fields; n++) own = `${name} ${n}`
  return own
}

/** `isFree`: in something that has a shape of its own. */
interface Step {
  readonly given: unknown
  readonly into: Fields
  readonly key: string
  readonly isFree: boolean
}
