import { existsSync, readFileSync } from 'node:fs'
import type { SessionFile } from '../../src/transfer/formats/parse-session.ts'

// Sessions as programs record them: small ones that are made up (test/samples), and real ones where ../shared/data is beside the
// checkout. Both have the same names, and the same things happen in them.

const folders = {
  sample: new URL('../samples/', import.meta.url),
  real: new URL('../../../shared/data/', import.meta.url),
}
export type Origin = keyof typeof folders

/** The rows of a table that are about sessions that are there: each begins with its origin. */
export const present = <Row extends readonly [Origin, ...unknown[]]>(rows: readonly Row[]): readonly Row[] =>
  rows.filter(([origin]) => existsSync(folders[origin]))

export const sessionFile = (origin: Origin, file: string): SessionFile & { readonly text: string } => ({
  file,
  text: readFileSync(new URL(file, folders[origin]), 'utf8'),
})
