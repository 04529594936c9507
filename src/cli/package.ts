import { readFileSync } from 'node:fs'

/** A file of the package. The sources of the command line and its build are both two folders below the package's own. */
export const packageFile = (path: string): URL => new URL(`../../${path}`, import.meta.url)

const manifest: unknown = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))

/** The version of this palimpsest. */
export const version =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown'
