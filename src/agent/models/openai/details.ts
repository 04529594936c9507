import { type Fields, isFields } from '../../../events/json.ts'

/** Creates a collector for reasoning details that arrive in parts. Parts with the same index and type belong to the same detail. */
export const detailsList = (): {
  readonly add: (parts: readonly unknown[]) => void
  readonly all: () => readonly Fields[]
} => {
  const details: Fields[] = []
  const places = new Map<string, number>()
  const addOne = (part: Fields): void => {
    const key = `${String(part['index'])} ${String(part['type'])}`
    const place = part['index'] === undefined ? undefined : places.get(key)
    if (place !== undefined) details[place] = continued(details[place] ?? {}, part)
    else places.set(key, details.push(part) - 1)
  }
  return { add: (parts) => parts.filter(isFields).forEach(addOne), all: () => details }
}

/** Fields whose parts are concatenated; every other field has the last value received. */
const growing: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

const continued = (before: Fields, part: Fields): Fields => {
  const told = Object.entries(part).flatMap(([name, value]) => {
    if (value === null || value === undefined) return []
    const { [name]: known } = before
    const grows = growing.has(name) && typeof known === 'string' && typeof value === 'string'
    return [[name, grows ? known + value : value] as const]
  })
  return { ...before, ...Object.fromEntries(told) }
}
