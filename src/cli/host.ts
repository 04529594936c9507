import type { Readable } from 'node:stream'
import type { Screen } from './output.ts'

/** What the program runs in: `process`, or what a test gives it. Relative paths are those of the process in any case. */
export interface Host {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Screen
  readonly stderr: Screen
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The store that commands work on where none is named. */
export const configuredStore = ({ env }: Host): string => env['PALIMPSEST_STORE'] || 'sqlite:palimpsest.db'
