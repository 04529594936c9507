import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { DiagnosisFinding } from './diagnosis.ts'
import type { StoreError } from './errors.ts'
import type { StoreAdapter } from './port.ts'

/** Function that opens a store by its URL. Unless `create` is true, a missing store is an error: `StoreNotFound`. */
export type OpenEventStore<S extends StoreAdapter = StoreAdapter> = (
  url: string,
  options: { readonly create: boolean },
) => TaskEither<StoreError | InvalidInput, S>

/** Functions for the stores whose URLs have a given scheme. */
export interface Scheme<S extends StoreAdapter = StoreAdapter> {
  readonly open: OpenEventStore<S>
  /** Looks for problems in a store without changing it. If absent, `palimpsest doctor` opens the store and calls its `integrity`. */
  readonly diagnose?: (url: string) => TaskEither<InvalidInput, readonly DiagnosisFinding[]>
}

/** The scheme is already registered with other functions. */
export interface SchemeTaken {
  readonly _tag: 'SchemeTaken'
  readonly message: string
  readonly scheme: string
}

/** The scheme of a store's URL is not registered. */
export interface UnknownScheme {
  readonly _tag: 'UnknownScheme'
  readonly message: string
  readonly scheme: string
  /** Schemes that can be opened, sorted. */
  readonly registered: readonly string[]
}

export const schemeTaken = (scheme: string): SchemeTaken => ({
  _tag: 'SchemeTaken',
  message: `the scheme ${scheme}: is already registered; register the store under another name`,
  scheme,
})

export const unknownScheme = (scheme: string, registered: readonly string[]): UnknownScheme => ({
  _tag: 'UnknownScheme',
  message: `no store is registered for ${scheme}: URLs, only for ${registered.join(', ')}: load the module that registers it (palimpsest --load FILE)`,
  scheme,
  registered,
})

// A single letter is a Windows drive.
const schemeName = /^[a-z][a-z0-9+.-]+$/

/** Returns the scheme of a URL; undefined if the URL has no valid scheme. */
export const schemeOf = (url: string): string | undefined => {
  const name = url.slice(0, Math.max(0, url.indexOf(':')))
  return schemeName.test(name) ? name : undefined
}

const key: unique symbol = Symbol.for('palimpsest.schemes')
const process: typeof globalThis & { [key]?: Map<string, Scheme> } = globalThis

/**
 * Returns the schemes that users have registered. All copies of the library in the process, such as the command line's own, share one
 * map.
 */
export const registeredSchemes = (): Map<string, Scheme> => (process[key] ??= new Map())

/**
 * Registers a scheme, so that `openStore` and every other function that takes a store's URL can open `scheme:…`. Registering the same
 * functions again changes nothing. Errors: `SchemeTaken`; `InvalidInput` for an invalid scheme name (valid: a–z, then a–z 0–9 + . -,
 * two characters or more).
 */
export const register = (
  name: string,
  { open, diagnose }: Scheme,
): E.Either<SchemeTaken | InvalidInput, void> => {
  if (typeof name !== 'string' || !schemeName.test(name))
    return E.left(
      invalidInput(
        'scheme',
        'must be a name such as postgres: two or more of a–z 0–9 + . -, beginning with a letter',
      ),
    )
  if (typeof open !== 'function')
    return E.left(invalidInput('open', 'must be a function that opens a store by its URL'))
  if (diagnose !== undefined && typeof diagnose !== 'function')
    return E.left(invalidInput('diagnose', 'must be a function that diagnoses a store by its URL'))
  const there = registeredSchemes().get(name)
  if (there && (there.open !== open || there.diagnose !== diagnose)) return E.left(schemeTaken(name))
  registeredSchemes().set(name, { open, ...(diagnose && { diagnose }) })
  return E.right(undefined)
}
