import { hash } from 'node:crypto'

/** Returns JSON with sorted keys and without `cache_control`. The JSON is equal for values that the API treats as equal. */
export const canonical = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const object = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(object).filter((key) => key !== 'cache_control' && object[key] !== undefined)
  return `{${keys
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key])}`)
    .join()}}`
}

/** Returns a function that computes the canonical JSON of a value on the first call. */
export const lazyCanonical = (value: unknown): (() => string) => {
  let made: string | undefined
  return () => (made ??= canonical(value))
}

export const digest = (text: string): string => hash('sha256', text, 'base64url')
