import canonicalize from 'canonicalize'

/** Returns the canonical JSON of a value. Values with equal canonical JSON are equivalent for the API. */
export const canonicalText = (value: unknown): string => canonicalize(value ?? null) ?? ''
