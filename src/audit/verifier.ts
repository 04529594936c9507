import { readFileSync } from 'node:fs'

/**
 * Returns the text of the program that verifies bundles, from the package. This file's source and its build are both two folders below
 * the package root.
 */
export const verifier = (): string =>
  readFileSync(new URL('../../verifier/verify.py', import.meta.url), 'utf8')
