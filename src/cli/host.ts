import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { withoutSecrets } from '../api/secrets.ts'
import type { Screen } from './output.ts'

/** Environment of the program: `process`, or a substitute in tests. Relative paths are always resolved by the process. */
export interface Host {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Screen
  readonly stderr: Screen
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Returns the store that commands use by default. */
export const defaultStore = ({ env }: Host): string => env['PALIMPSEST_STORE'] || 'sqlite:palimpsest.db'

/** Returns the actor: as the command names it, or the user of this shell. */
export const actorIn = ({ env }: Host, by?: string): string => by ?? (env['USER'] || 'user')

const isServer = (url: string): boolean => !/^(sqlite|memory):/.test(url)

/** Time that opening a server's store may take before a notice is shown, in milliseconds. */
const soon = 2_000

/** Waits for a store to open; names it on standard error if it is on a server and takes long. */
export const patiently = async <A>({ stderr }: Host, url: string, opening: Promise<A>): Promise<A> => {
  const say = (): void => void stderr.write(`waiting for ${withoutSecrets(url)}\n`)
  const late = isServer(url) ? setTimeout(say, soon) : undefined
  return opening.finally(() => clearTimeout(late))
}

/** Returns the folder for the index of a store; undefined if the index is beside the store, which is impossible for a server. */
export const indexFolder = ({ env }: Host, url: string): string | undefined => {
  const named = env['PALIMPSEST_INDEX']
  if (named || !isServer(url)) return named || undefined
  const cache = env['XDG_CACHE_HOME'] || (env['HOME'] && join(env['HOME'], '.cache'))
  return cache ? join(cache, 'palimpsest') : undefined
}
