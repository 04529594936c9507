import { readFileSync } from 'node:fs'

/**
 * Returns the text of the program that verifies bundles, from the package. Both the source and the build of this file are two folders
 * below the package root.
 */
export const verifier = (): string =>
  readFileSync(new URL('../../verifier/verify.py', import.meta.url), 'utf8')
