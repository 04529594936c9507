import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isBuilt } from '../support/bundle.ts'

export const run = promisify(execFile)
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Copies what the package needs from the checkout into a folder's node_modules, so that npm need not ask anybody for it. */
export const withDependencies = (folder: string): void => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, object>>
  }
  for (const [path, its] of Object.entries(packages)) {
    if (path === '' || ['dev', 'optional', 'devOptional', 'peer'].some((key) => key in its)) continue
    const from = join(root, path)
    const isOwn = (source: string): boolean => !source.slice(from.length).includes('node_modules')
    cpSync(from, join(folder, path), { recursive: true, dereference: true, filter: isOwn })
  }
}

/** The package as it is published, in a folder's node_modules with its dependencies and no others. Returns where it is. */
export const unpacked = async (folder: string): Promise<string> => {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  // The script that would run is the build.
  const more = isBuilt() ? ['--ignore-scripts'] : []
  await run('npm', ['pack', '--pack-destination', folder, ...more], { cwd: root, maxBuffer: 2 ** 26 })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  await run('tar', ['-xf', join(folder, tarball), '-C', modules])
  const own = join(modules, 'palimpsest')
  renameSync(join(modules, 'package'), own)
  const { dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  return own
}
