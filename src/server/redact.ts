/** What stands in place of what was redacted. */
export const mark = '[redacted]'

/** What says what a part of a message is, and to what it belongs. */
const ofBlocks = 'type role id tool_use_id signature media_type ttl'

/** The names of fields whose texts stay: in what is said there are fewer, since anything may be said under any name. */
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

/** `said`: in messages and prompts; `free`: in something that has a shape of its own; `around`: elsewhere. */
type Place = keyof typeof kept

/** What is in these was said, or is part of a prompt. */
const saying: ReadonlySet<string> = new Set(['content', 'system', 'tools'])

/** What only this library writes, by its name and by a field that tells it from content of the same name: it stays whole. */
const ours: ReadonlyMap<string, string> = new Map([
  ['context', 'digest'],
  ['receipt', 'digest'],
  ['policy', 'used'],
])

/** Blocks and sources whose `data` is encoded: no text can be found in it. */
const encoded: ReadonlySet<unknown> = new Set(['base64', 'redacted_thinking'])

/** What is in these has a shape of its own: there, names say nothing, and numbers may be anybody's. */
const free: readonly string[] = ['input', 'input_schema', 'parameters']

export interface RedactionResult<A> {
  readonly value: A
  /** How many texts, numbers and names of fields were changed. */
  readonly places: number
}

/** Any of these texts, the longest first: all at once, so that none of them is looked for in a mark. */
export const anyOf = (texts: readonly string[]): RegExp =>
  new RegExp(
    texts
      .toSorted((one, other) => other.length - one.length)
      .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
      .join('|'),
  )

/** A copy of a value in which the mark stands for each of these texts in what is content; the value itself, without texts. */
export const redactor = (texts: readonly string[]): (<A>(value: A) => A) => {
  if (texts.length === 0) return (value) => value
  const pattern = anyOf(texts)
  return (value) => redacted(value, pattern).value
}

/**
 * The same JSON with every match in its texts replaced by the mark; in inputs, schemas and other free data also in numbers and in the names
 * of fields. Structure stays elsewhere: types, ids and what is encoded, and around what is said times, hashes and receipts. No recursion: inputs may be nested deeply.
 *
 * @param alsoFree names of fields whose content has a shape of its own too
 */
export const redacted = <A>(
  value: A,
  pattern: RegExp,
  alsoFree: readonly string[] = [],
): RedactionResult<A> => {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  const isFreeIn = new Set([...free, ...alsoFree])
  let places = 0
  const clean = (text: string): string => {
    const now = text.replaceAll(every, () => mark)
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
      const named = place === 'free' && !isList ? freeName(made, clean(name)) : name
      // In the order in which it was.
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

/** Two names may become the same. */
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
