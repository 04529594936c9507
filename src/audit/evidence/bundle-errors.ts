import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { mostLevels } from '../../events/json.ts'

// Checks stop at the first difference from the bundle as it was written. `verdictOfError` converts their errors into verdicts.

/** Thrown when a bundle's content contradicts its hashes, its manifest or the ledger. */
export class BrokenBundleError extends Error {}

/** Thrown when the folder is not a bundle, was altered in transit, or does not match the key. None of these proves a forgery. */
export class UncheckedBundleError extends Error {}

export const requireThat = (
  isSo: boolean,
  problem: string,
  Problem: typeof BrokenBundleError | typeof UncheckedBundleError = BrokenBundleError,
): void => {
  if (!isSo) throw new Problem(problem)
}

/** Thrown when part of a bundle is missing or malformed. `inFile` converts it into an error that names the file. */
export class BundleFormatError extends Error {}

/** Returns `value`. Throws `BundleFormatError` if it is undefined. */
export const requireValue = <A>(value: A | undefined): A => {
  if (value === undefined) throw new BundleFormatError()
  return value
}

/**
 * Runs a check that reads one file of a bundle. Its errors name the file: a file that cannot be read is unchecked; invalid JSON, invalid
 * UTF-8 and malformed data are broken, because bundles contain none of them.
 */
export const inFile = async <A>(name: string, check: () => A | Promise<A>): Promise<A> => {
  try {
    return await check()
  } catch (error) {
    throw namedError(name, error)
  }
}

/** Returns the error of a check with the name of the file that it has read. Returns errors of another kind unchanged. */
export const namedError = (name: string, error: unknown): unknown => {
  if (isSystemError(error)) return new UncheckedBundleError(`${name} cannot be read`)
  if (error instanceof SyntaxError)
    return new BrokenBundleError(`${name} contains invalid JSON: get another copy of the bundle`)
  // Decoder errors have a `code`.
  const isMalformed = error instanceof BundleFormatError || (error instanceof Error && 'code' in error)
  return isMalformed ? new BrokenBundleError(`${name} is malformed: get another copy of the bundle`) : error
}

/** Reports whether an error is from the file system. */
export const isSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const textFrom = (bytes: Uint8Array): string => decoder.decode(bytes)

export const parse = (bytes: Uint8Array): unknown => {
  const text = textFrom(bytes)
  let levels = 0
  for (const bracket of text.replace(/\\[^\n]/g, '').replace(/"[^"]*"|[^\][{}"]+/g, '')) {
    levels += bracket === '[' || bracket === '{' ? 1 : -1
    // Parsers have different nesting limits. Both verifiers use this limit, which is below the limit of Python 3.12 (1,497).
    requireThat(levels <= mostLevels, 'a value is nested more than 1,400 levels deep')
  }
  return JSON.parse(text)
}

/** Returns the path of a file in a bundle. Throws `BrokenBundleError` if the path does not exist or is not a file. */
export const fileIn = async (folder: string, name: string): Promise<string> => {
  const path = join(folder, name)
  requireThat(await isFile(path), `there is no ${name}: the bundle is incomplete`)
  return path
}

export const isFile = async (path: string): Promise<boolean> => (await kindOf(path)) === 'file'

/** Returns the kind of file at a path, following links. Returns undefined if the path does not exist. */
export const kindOf = (path: string): Promise<'file' | 'folder' | 'other' | undefined> =>
  stat(path).then(
    (stats) => (stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'),
    () => undefined,
  )

export const bytesIn = async (folder: string, name: string): Promise<Buffer> =>
  readFile(await fileIn(folder, name))

/** Returns a field of an object. Throws `BundleFormatError` if `value` is not an object or lacks the field. */
export const field = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    throw new BundleFormatError()
  return (value as Readonly<Record<string, unknown>>)[name]
}

/** Returns `value` as a count or a position. Throws `BundleFormatError` unless it is a safe integer ≥ 0. */
export const numberIn = (value: unknown): number => {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new BundleFormatError()
  // JSON can represent -0, which a deep comparison distinguishes from 0.
  return Number(value) + 0
}

export const listIn = (value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw new BundleFormatError()
  return value
}

export const textIn = (value: unknown): string => {
  if (typeof value !== 'string') throw new BundleFormatError()
  return value
}

/** Returns a field of an object; undefined if the field is missing or null. */
export const optional = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BundleFormatError()
  return (value as Readonly<Record<string, unknown>>)[name] ?? undefined
}
