import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { withoutSecrets } from '../api/secrets.ts'
import type { Screen } from './output.ts'

/** The program's environment: `process`, or one supplied by a test. Relative paths are always resolved by the process. */
export interface Host {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Screen
  readonly stderr: Screen
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The store that commands use by default. */
export const configuredStore = ({ env }: Host): string => env['PALIMPSEST_STORE'] || 'sqlite:palimpsest.db'

/** Who acts: as the command says, or the user of this shell. */
export const actorIn = ({ env }: Host, by?: string): string => by ?? (env['USER'] || 'user')

const isServer = (url: string): boolean => !/^(sqlite|memory):/.test(url)

/** How long a server may take before it is said that it is waited for, in milliseconds. */
const soon = 2_000

/** What opens a store; says on the standard error which one is waited for, if it is a server and takes long. */
export const patiently = async <A>({ stderr }: Host, url: string, opening: Promise<A>): Promise<A> => {
  const say = (): void => void stderr.write(`waiting for ${withoutSecrets(url)}\n`)
  const late = isServer(url) ? setTimeout(say, soon) : undefined
  return opening.finally(() => clearTimeout(late))
}

/** Where the index of a store is kept, if not beside it: there is nothing beside a server. */
export const indexFolder = ({ env }: Host, url: string): string | undefined => {
  const named = env['PALIMPSEST_INDEX']
  if (named || !isServer(url)) return named || undefined
  const cache = env['XDG_CACHE_HOME'] || (env['HOME'] && join(env['HOME'], '.cache'))
  return cache ? join(cache, 'palimpsest') : undefined
}
