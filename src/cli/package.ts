import { readFileSync } from 'node:fs'

/**
 * Returns the URL of a file in the package. The sources and the build of the command line are both two folders below the package root.
 */
export const packageFile = (path: string): URL => new URL(`../../${path}`, import.meta.url)

const manifest: unknown = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))

export const version =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown'
