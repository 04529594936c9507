import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { placesIn, placesOf, shortPlace } from '../result/error-place.ts'
import { toError } from '../result/typed-error.ts'
import { type CliError, failureOf } from './errors.ts'

/** Loads modules by path, in order, so that the command can use the stores and formats that they register. Throws `PlugInFailed`. */
export const loadPlugIns = async (files: readonly string[]): Promise<void> => {
  for (const file of files) await loadModule(file, plugInFailed)
}

/** Makes the error for a file that cannot be loaded. */
type LoadFailed = (file: string, why: string, place?: string) => CliError

/** Reason why a file that does not exist cannot be loaded. */
export const noSuchFile = 'there is no such file: check the path'

/** Loads a module by path. If the module cannot be loaded, throws the error that `failed` returns for the reason. */
export const loadModule = async (file: string, failed: LoadFailed): Promise<unknown> => {
  const path = resolve(file)
  if (!existsSync(path)) throw toError(failed(file, noSuchFile))
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    const place = placeOf(error, path)
    const at = place === undefined ? '' : `, at ${place}`
    throw toError(failed(file, `${messageOf(error)}${at}${adviceOn(error, file)}`, place))
  }
}

/** Returns advice on a file that Node cannot load because of its syntax, its module type or a missing package, or an empty string. */
const adviceOn = (error: unknown, file: string): string => {
  const message = error instanceof Error ? error.message : ''
  if (/import statement outside a module|Unexpected token 'export'/.test(message))
    return `: rename it to ${file.replace(/\.c?([jt])s$/, '.m$1s')}, or put "type": "module" into package.json`
  if (message.startsWith('Cannot find package')) return ': install it with npm, in the folder of the module'
  if (/strip-only mode/.test(message))
    return ': Node only strips types: compile the module first, or avoid that syntax'
  return ''
}

const plugInFailed: LoadFailed = (file, why, place) => ({
  _tag: 'PlugInFailed',
  message: `the module ${file} (--load) cannot be loaded: ${why}`,
  file,
  ...(place !== undefined && { place }),
})

const messageOf = (error: unknown): string => {
  if (error instanceof Error) return error.message
  return typeof error === 'object' && error !== null ? failureOf(error).message : String(error)
}

/**
 * Returns the source location of an error as `path:line` or `path:line:column`. A location in the loaded module itself is preferred;
 * the library's own modules are ignored.
 */
const placeOf = (error: unknown, path: string): string | undefined => {
  const places = placesOf(error)
  const place =
    places.find((each) => each.startsWith(`${path}:`)) ??
    places[0] ??
    (error instanceof SyntaxError ? tornPlace(path) : undefined)
  return place === undefined ? undefined : shortPlace(place)
}

/**
 * Returns the source location of a syntax error, found with `node --check`: Node reports the location only when the error ends the
 * process.
 */
const tornPlace = (path: string): string | undefined =>
  placesIn(spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' }).stderr).at(0)
