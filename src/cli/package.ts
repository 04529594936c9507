import { readFileSync } from 'node:fs'

/** Returns the URL of a file of the package. Both the sources and the build of the command line are two folders below the package root. */
export const packageFile = (path: string): URL => new URL(`../../${path}`, import.meta.url)

const manifest: unknown = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))

/** Version of this palimpsest. */
export const version =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown'
