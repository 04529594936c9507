import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = new URL('..', import.meta.url).pathname

/** A package of ours, installed from the tarball that is published. */
export interface Installed {
  readonly name: string
  readonly folder: string
  readonly mebibytes: number
  readonly packages: number
}

/** Installs the package of this checkout in an empty project in `folder`. */
export const installNow = (folder: string): Promise<Installed> => install('now', root, folder)

/** Packs the checkout in `source` and installs that in an empty project in `folder`. */
export const install = async (name: string, source: string, folder: string): Promise<Installed> => {
  await mkdir(folder)
  await run('npm', ['pack', '--pack-destination', folder], { cwd: source, maxBuffer: 2 ** 26 })
  const tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz')) ?? ''
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder })
  const files = await readdir(join(folder, 'node_modules'), { recursive: true, withFileTypes: true })
  const blocks = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).blocks),
  )
  const lock: unknown = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'))
  const { packages } = lock as { readonly packages: Readonly<Record<string, unknown>> }
  return {
    name,
    folder,
    mebibytes: (blocks.reduce((sum, each) => sum + each, 0) * 512) / 2 ** 20,
    packages: Object.keys(packages).length - 1,
  }
}

/** The module that the installed package exports. */
export const moduleOf = ({ folder }: Installed): string =>
  pathToFileURL(join(folder, 'node_modules/palimpsest/dist/index.js')).href

/** The line of a failed command that says why. */
export const reasonOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n').find((line) => /^(fatal|npm error)/.test(line)) ?? message
}
