import { readFileSync } from 'node:fs'

/** The program that checks bundles, as it is in the package. The source of this and its build are both two folders below the package's own. */
export const verifier = (): string =>
  readFileSync(new URL('../../verifier/verify.py', import.meta.url), 'utf8')
