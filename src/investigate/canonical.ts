import canonicalize from 'canonicalize'

/** Returns the canonical JSON of a value: equal texts mean the same to the API. */
export const canonicalText = (value: unknown): string => canonicalize(value ?? null) ?? ''
