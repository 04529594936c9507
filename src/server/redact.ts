const mark = '[redacted]'

/** Names rather than says something: of what kind it is. */
const kinds = new Set(['type', 'role', 'kind'])
/** What is in these has a shape of its own: its keys and kinds are content. */
const free = new Set(['input', 'input_schema', 'parameters'])

/** A copy of a value in which `[redacted]` stands for each of these texts, the longest first; the value itself, without texts. */
export const redactor = (texts: readonly string[]): (<A>(value: A) => A) => {
  if (texts.length === 0) return (value) => value
  const longestFirst = texts.toSorted((one, other) => other.length - one.length)
  // All at once: none of them is looked for in a mark.
  const any = new RegExp(
    longestFirst.map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join('|'),
    'g',
  )
  const inText = (text: string): string => text.replaceAll(any, mark)
  const inValue = (value: unknown, isFree: boolean): unknown => {
    if (typeof value === 'string') return inText(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((inner) => inValue(inner, isFree))
    const fields = Object.entries(value).map(([key, inner]: [string, unknown]) => {
      if (isFree) return [inText(key), inValue(inner, true)]
      return [key, kinds.has(key) ? inner : inValue(inner, free.has(key))]
    })
    return Object.fromEntries(fields)
  }
  return <A>(value: A) => inValue(value, false) as A
}
