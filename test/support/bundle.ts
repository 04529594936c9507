import { cpSync, existsSync, globSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import config from '../../rolldown.config.ts'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

/** The package's JavaScript, made as the published one is: a process loads it in a third of the time that the sources take. */
const buildInto = async (dir: string): Promise<void> => {
  const [output] = [config.output].flat()
  await build({ ...config, cwd, output: { ...output, dir } })
}

/** A program and all that it imports, as `NAME.js` in a folder. */
export const bundle = async (program: string, dir: string): Promise<void> => {
  await build({ cwd, input: program, platform: 'node', external: /^@eventstore\//, output: { dir } })
}

const cache = join(cwd, 'node_modules/.cache/built')
/** What the package is made of. */
const made = ['src/**/*.ts', 'bin/*.js', 'package.json', 'package-lock.json', 'rolldown.config.ts']

/** Builds the package as it is published, with `bin`, `dist`, `examples` and `package.json`, unless it has been built of these files before. */
const built = async (): Promise<string> => {
  const times = globSync(made, { cwd }).map((file) => statSync(join(cwd, file)).mtimeMs)
  const name = `${times.length}-${Math.max(...times)}`
  const folder = join(cache, name)
  if (existsSync(folder)) return folder
  for (const other of globSync('*', { cwd: cache }).filter((entry) => !entry.startsWith(name)))
    rmSync(join(cache, other), { recursive: true, force: true })
  const unfinished = `${folder}.${process.pid}`
  await buildInto(join(unfinished, 'dist'))
  for (const path of ['bin', 'package.json'])
    cpSync(join(cwd, path), join(unfinished, path), { recursive: true })
  symlinkSync(join(cwd, 'examples'), join(unfinished, 'examples'))
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
  return folder
}

let folder: Promise<string> | undefined
/** The folder of the package as it is published. */
export const builtPackage = (): Promise<string> => (folder ??= built())
