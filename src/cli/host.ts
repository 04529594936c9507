import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { withoutSecrets } from '../api/secrets.ts'
import type { Screen } from './output.ts'

/**
 * Environment of the program: `process`, or a substitute in tests. Relative paths are always resolved against the working directory of
 * the process.
 */
export interface Host {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Screen
  readonly stderr: Screen
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Returns the default store: `PALIMPSEST_STORE`, or `sqlite:palimpsest.db`. */
export const defaultStore = ({ env }: Host): string => env['PALIMPSEST_STORE'] || 'sqlite:palimpsest.db'

/** Returns the name of the actor: the given one, or the user of this shell. */
export const actorIn = ({ env }: Host, by?: string): string => by ?? (env['USER'] || 'user')

const isServer = (url: string): boolean => !/^(sqlite|memory):/.test(url)

/** Time that opening a store on a server may take before a notice is shown, in milliseconds. */
const soon = 2_000

/** Waits for a store to open. If a store on a server takes long to open, names it on standard error. */
export const patiently = async <A>({ stderr }: Host, url: string, opening: Promise<A>): Promise<A> => {
  const say = (): void => void stderr.write(`waiting for ${withoutSecrets(url)}\n`)
  const late = isServer(url) ? setTimeout(say, soon) : undefined
  return opening.finally(() => clearTimeout(late))
}

/**
 * Returns the folder for the index of a store, or undefined if the index is stored next to the store. The index of a store on a server
 * needs a folder of its own.
 */
export const indexFolder = ({ env }: Host, url: string): string | undefined => {
  const named = env['PALIMPSEST_INDEX']
  if (named || !isServer(url)) return named || undefined
  const cache = env['XDG_CACHE_HOME'] || (env['HOME'] && join(env['HOME'], '.cache'))
  return cache ? join(cache, 'palimpsest') : undefined
}
