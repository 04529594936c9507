import canonicalize from 'canonicalize'

/** The canonical JSON of a value: equal for what is the same to the API. */
export const canonicalText = (value: unknown): string => canonicalize(value ?? null) ?? ''
