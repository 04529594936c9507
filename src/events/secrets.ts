import { pathText } from './json.ts'

// Parameters of a request may contain secrets (`mcp_servers[].authorization_token`). Secrets are sent but never recorded: each is
// replaced by a reference that gives its path.

/** Matches the names of fields whose text value is a secret, with any separator between words. */
const secretName =
  /^(?:x[-_]?)?(?:(?:proxy[-_]?)?authorization|(?:authorization|auth|access|refresh|bearer|session|security)[-_]?token|bearer|api[-_]?key|(?:client|shared|app)?[-_]?secret(?:[-_]?(?:access[-_]?)?key)?|private[-_]?key|pass(?:word|wd|phrase)|cookie)$/i

/** Reference to a secret by its path, such as `mcp_servers[0].authorization_token`. */
export interface SecretReference {
  readonly $secret: string
}

const isReference = (value: unknown): value is SecretReference =>
  typeof value === 'object' && value !== null && '$secret' in value && typeof value.$secret === 'string'

type Path = readonly PropertyKey[]
type Visit = (value: unknown, path: Path) => unknown

/**
 * Returns a copy of a value in which the results of `visit` replace the secrets and the references to secrets. Returns the same object
 * if nothing is replaced.
 */
const visited = <A>(value: A, visit: Visit): A => {
  const at = (inner: unknown, path: Path): unknown => {
    if (isReference(inner) || isSecret(inner, path)) return visit(inner, path)
    if (typeof inner !== 'object' || inner === null) return inner
    const before = Object.entries(inner)
    const after = before.map(([key, field]): readonly [string, unknown] => [
      key,
      at(field, [...path, Array.isArray(inner) ? Number(key) : key]),
    ])
    if (after.every(([, field], index) => field === before[index]?.[1])) return inner
    return Array.isArray(inner) ? after.map(([, field]) => field) : Object.fromEntries(after)
  }
  return at(value, []) as A
}

const isSecret = (value: unknown, path: Path): boolean =>
  typeof value === 'string' && value !== '' && secretName.test(String(path.at(-1)))

/** Returns a value in its recorded form, with references in place of secrets. */
export const withoutSecrets = <A>(value: A): A =>
  visited(value, (found, path) => (isReference(found) ? found : { $secret: pathText(path) }))

/** Returns the secrets in a value, by their path. */
export const secretsIn = (value: unknown): ReadonlyMap<string, string> => {
  const secrets = new Map<string, string>()
  visited(value, (found, path) => {
    if (typeof found === 'string') secrets.set(pathText(path), found)
    return found
  })
  return secrets
}

/** Returns a value in the form to be sent, with secrets in place of their references. A reference stays if its secret is not known. */
export const withSecrets = <A>(value: A, secrets: ReadonlyMap<string, string>): A =>
  visited(value, (found) => (isReference(found) ? (secrets.get(found.$secret) ?? found) : found))

/** Returns the paths of the secrets to which a value refers. */
export const referencesIn = (value: unknown): readonly string[] => {
  const references: string[] = []
  visited(value, (found) => {
    if (isReference(found)) references.push(found.$secret)
    return found
  })
  return references
}

/**
 * Minimum length of a text that is treated as a repetition of a secret. Shorter texts occur by chance, so they are not searched for.
 */
const leastEcho = 4

/** Returns the forms in which a text may repeat a secret: verbatim, without its scheme (`Bearer`), and as encoded in JSON or a URL. */
const echoesOf = (secret: string): readonly string[] => {
  const [, word = secret] = /^\S+\s+(\S+)$/.exec(secret) ?? []
  const written = [secret, word].flatMap((one) => [
    one,
    JSON.stringify(one).slice(1, -1),
    encodeURIComponent(one.toWellFormed()),
  ])
  return written.filter(({ length }) => length >= leastEcho)
}

/** Returns a value with references in place of the secrets that its texts repeat; the same value if no secrets are given. */
export const withoutEchoes = <A>(value: A, secrets: ReadonlyMap<string, string>): A => {
  const paths = new Map(
    // If several paths have the same secret, the first one is used.
    [...secrets]
      .toReversed()
      .flatMap(([path, secret]) => echoesOf(secret).map((echo) => [echo, path] as const)),
  )
  if (paths.size === 0) return value
  // One text may begin with another, so the longest is tried first. One pass, so that inserted references are not searched.
  const longestFirst = [...paths.keys()].toSorted((one, other) => other.length - one.length)
  const echo = new RegExp(longestFirst.map((text) => RegExp.escape(text)).join('|'), 'g')
  const at = (inner: unknown): unknown => {
    if (typeof inner === 'string')
      return inner.replaceAll(echo, (found) => JSON.stringify({ $secret: paths.get(found) }))
    if (typeof inner !== 'object' || inner === null) return inner
    if (Array.isArray(inner)) return inner.map(at)
    return Object.fromEntries(Object.entries(inner).map(([key, field]) => [key, at(field)]))
  }
  return at(value) as A
}
