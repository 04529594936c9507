/** What stands in place of what was redacted. */
export const mark = '[redacted]'

/** What says what something is, and to what it belongs. */
const identifying: ReadonlySet<string> = new Set(
  'type id role kind method tool_use_id call conversation from relation messageId commandId requestId starts prev hash digest media_type time'.split(
    ' ',
  ),
)

/** What is in these has a shape of its own: there, names say nothing. */
const free: ReadonlySet<string> = new Set(['input', 'input_schema', 'parameters'])

export interface Redacted<A> {
  readonly value: A
  /** How many texts and names of fields were changed. */
  readonly places: number
}

/** The same JSON with every match in its texts, and in the names of fields, replaced by the mark. Ids stay. No recursion: inputs may be nested deeply. */
export const redacted = <A>(value: A, pattern: RegExp): Redacted<A> => {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  let places = 0
  const clean = (text: string): string => {
    const now = text.replaceAll(every, mark)
    if (now !== text) places += 1
    return now
  }
  const whole: Fields = {}
  const open: Step[] = [{ given: value, into: whole, key: 'value', isFree: false }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { given, into, key, isFree } = next
    if (typeof given === 'string') into[key] = !isFree && identifying.has(key) ? given : clean(given)
    else if (typeof given !== 'object' || given === null) into[key] = given
    else {
      const isList = Array.isArray(given)
      const made = (isList ? [] : Object.create(null)) as Fields
      into[key] = made
      for (const [name, inner] of Object.entries(given)) {
        const named = isList ? name : freeName(made, clean(name))
        // In the order in which it was.
        made[named] = undefined
        open.push({ given: inner, into: made, key: named, isFree: isFree || free.has(key) })
      }
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

/** `isFree`: in the input of a call, where names say nothing. */
interface Step {
  readonly given: unknown
  readonly into: Fields
  readonly key: string
  readonly isFree: boolean
}
