import { cpSync, existsSync, globSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import config from '../../rolldown.config.ts'
import { tsc } from './tsc.ts'

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

/** What the package is made of. */
const made = [
  'src/**/*.ts',
  'bin/*.js',
  'package.json',
  'package-lock.json',
  'rolldown.config.ts',
  'tsconfig*.json',
]

/** A folder that is made anew whenever these files have changed. */
const kept = async (what: string, make: (folder: string) => Promise<void>): Promise<string> => {
  const cache = join(cwd, 'node_modules/.cache', what)
  const times = globSync(made, { cwd }).map((file) => statSync(join(cwd, file)).mtimeMs)
  const name = `${times.length}-${Math.max(...times)}`
  const folder = join(cache, name)
  if (existsSync(folder)) return folder
  for (const other of globSync('*', { cwd: cache }).filter((entry) => !entry.startsWith(name)))
    rmSync(join(cache, other), { recursive: true, force: true })
  const unfinished = `${folder}.${process.pid}`
  await make(unfinished)
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
  return folder
}

const publish = async (folder: string): Promise<void> => {
  await buildInto(join(folder, 'dist'))
  for (const path of ['bin', 'package.json']) cpSync(join(cwd, path), join(folder, path), { recursive: true })
  symlinkSync(join(cwd, 'examples'), join(folder, 'examples'))
}

let built: Promise<string> | undefined
/** The folder of the package as it is published, without declarations: `bin`, `dist`, `examples` and `package.json`. */
export const builtPackage = (): Promise<string> => (built ??= kept('built', publish))

const declare = async (folder: string): Promise<void> => {
  const said = await tsc(['-p', 'tsconfig.build.json', '--outDir', folder])
  if (said !== '') throw new Error(said)
}

let declared: Promise<string> | undefined
/** The folder of the package's declarations as they are published. */
export const builtDeclarations = (): Promise<string> => (declared ??= kept('declared', declare))
