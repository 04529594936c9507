import { encoded } from './texts.ts'

/** Text that replaces redacted text. */
export const mark = '[redacted]'

/** Names of fields in messages that hold structure, such as the type of a content block or the id of the call to which it belongs. */
const ofBlocks = 'type role id tool_use_id signature media_type ttl'

/**
 * Names of fields whose texts are never redacted, by place. The list for messages is shorter, since their content may use any field
 * name for any text.
 */
const kept = {
  around: new Set(
    [
      ofBlocks,
      'kind method call conversation from relation messageId commandId requestId starts',
      '$correlationId $causationId prev hash digest',
      'time updated expires_at state',
    ].flatMap((names) => names.split(' ')),
  ),
  said: new Set(ofBlocks.split(' ')),
  free: new Set<string>(),
} as const satisfies Record<string, ReadonlySet<string>>

/** Place of a value: `said` in messages and prompts, `free` in data with a schema of its own, such as tool input, `around` elsewhere. */
type Place = keyof typeof kept

/** Names of fields that hold messages or parts of a prompt. */
const saying: ReadonlySet<string> = new Set(['content', 'system', 'tools'])

/**
 * Names of fields that only this library writes and that redaction leaves unchanged. Each name is mapped to an inner field that
 * distinguishes the field from content with the same name.
 */
const ours: ReadonlyMap<string, string> = new Map([
  ['context', 'digest'],
  ['receipt', 'digest'],
  ['policy', 'used'],
  ['workspace', 'commit'],
])

/** Names of fields whose data has a schema of its own. In such data, field names have no known meaning, and numbers may be confidential. */
const free: readonly string[] = ['input', 'input_schema', 'parameters']

/** Names of the fields, outside content, that hold salts. */
const salts: ReadonlySet<string> = new Set(['salt', 'configuredSalt', 'formerSalt'])

export interface RedactionResult<A> {
  readonly value: A
  /** Number of texts, numbers and field names that were changed. */
  readonly places: number
}

/**
 * Makes a pattern that matches any of the given texts, longest first. All texts are matched in one pass, so that no text is matched
 * inside an inserted mark.
 */
export const anyOf = (texts: readonly string[]): RegExp =>
  new RegExp(
    texts
      .toSorted((one, other) => other.length - one.length)
      .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
      .join('|'),
  )

/**
 * Makes a function that returns a copy of a value in which the mark replaces every occurrence of the given texts. Without texts, the
 * function returns the value itself.
 */
export const redactor = (texts: readonly string[]): (<A>(value: A) => A) => {
  if (texts.length === 0) return (value) => value
  return patternRedactor(anyOf(texts))
}

/** Makes a function that returns a copy of a value in which the mark replaces every match of a pattern. */
export const patternRedactor =
  (pattern: RegExp): (<A>(value: A) => A) =>
  (value) =>
    redactMatches(value, pattern).value

/**
 * Returns a copy of a JSON value in which the mark replaces every match in texts. In tool inputs, schemas and other data with a schema
 * of its own, matches in numbers and field names are replaced, too. Elsewhere the structure is kept: types, ids and encoded data, and
 * outside messages also times, hashes and receipts. The salts of events are left out: with them, the hash of an event would confirm a
 * guess of what was redacted. Recursion is avoided, because tool inputs may be nested deeply.
 *
 * @param alsoFree names of further fields whose data has a schema of its own
 * @param onMatch called with each text that is replaced
 */
export const redactMatches = <A>(
  value: A,
  pattern: RegExp,
  alsoFree: readonly string[] = [],
  onMatch?: (text: string) => void,
): RedactionResult<A> => {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  const isFreeIn = new Set([...free, ...alsoFree])
  let places = 0
  const clean = (text: string): string => {
    const now = text.replaceAll(every, (match) => {
      onMatch?.(match)
      return mark
    })
    if (now !== text) places += 1
    return now
  }
  const leaf = (given: unknown, key: string, place: Place): unknown => {
    if (typeof given === 'string') return kept[place].has(key) ? given : clean(given)
    if (typeof given !== 'number' || place !== 'free') return given
    const now = clean(String(given))
    return now === String(given) ? given : now
  }
  const whole: Fields = {}
  const open: Step[] = [{ given: value, into: whole, key: 'value', place: 'around' }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { given, into, key } = next
    const place = isFreeIn.has(key) ? 'free' : within(next.place, key)
    if (typeof given !== 'object' || given === null) {
      into[key] = leaf(given, key, place)
      continue
    }
    if (place === 'around' && isOurs(given, key)) {
      into[key] = given
      continue
    }
    const keepsData = place !== 'free' && encoded.has(Reflect.get(given, 'type'))
    const isList = Array.isArray(given)
    const made = (isList ? [] : Object.create(null)) as Fields
    into[key] = made
    for (const [name, inner] of Object.entries(given)) {
      if (place === 'around' && salts.has(name)) continue
      const named = place === 'free' && !isList ? freeName(made, clean(name)) : name
      // Assigned now, so that the fields keep their order.
      made[named] = keepsData && name === 'data' ? inner : undefined
      if (made[named] === undefined) open.push({ given: inner, into: made, key: named, place })
    }
  }
  return { value: whole['value'] as A, places }
}

const within = (place: Place, key: string): Place => (place === 'around' && saying.has(key) ? 'said' : place)

const isOurs = (given: object, key: string): boolean => {
  const told = ours.get(key)
  return told !== undefined && told in given
}

type Fields = Record<string, unknown>

/** Returns a field name that the object does not have yet: redaction may make two names equal. */
const freeName = (fields: Fields, name: string): string => {
  let own = name
  for (let n = 2; own in fields; n++) own = `${name} ${n}`
  return own
}

interface Step {
  readonly given: unknown
  readonly into: Fields
  readonly key: string
  readonly place: Place
}
