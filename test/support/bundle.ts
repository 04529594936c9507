import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import client from '../../rolldown.client.config.ts'
import config from '../../rolldown.config.ts'
import { kept, root as cwd } from './kept.ts'
import { tsc } from './tsc.ts'

/** The package's JavaScript, made as the published one is: a process loads it in a third of the time that the sources take. */
const buildInto = async (dir: string): Promise<void> => {
  for (const part of [config, client]) {
    const [output] = [part.output].flat()
    await build({ ...part, cwd, output: { ...output, dir } })
  }
}

/** A program and all that it imports, as `NAME.js` in a folder. */
export const bundle = async (program: string, dir: string): Promise<void> => {
  await build({ cwd, input: program, platform: 'node', external: /^@eventstore\/|^pg$/, output: { dir } })
}

/** What the package is made of. */
const made = [
  'src/**/*',
  'vite.*.config.ts',
  'bin/*.js',
  'package.json',
  'package-lock.json',
  'rolldown.config.ts',
  'rolldown.client.config.ts',
  'tsconfig*.json',
]

/** Times at which the files and folders of a pattern were changed last. */
const changesOf = (pattern: string | readonly string[]): readonly number[] =>
  globSync(pattern, { cwd }).map((file) => statSync(join(cwd, file)).mtimeMs)

/** A folder that is made anew whenever these files have changed, or what else it is made of. */
const keptFor = (
  what: string,
  make: (folder: string) => Promise<void>,
  others: readonly string[] = [],
): Promise<string> => {
  const times = changesOf([...made, ...others])
  return kept(what, `${times.length}-${Math.max(...times)}`, make)
}

/** Reports whether `npm run build` has made all of `dist`, and nothing that it is made of was changed since. */
export const isBuilt = (): boolean =>
  // Made last.
  existsSync(join(cwd, 'dist/ui-file')) &&
  Math.min(...changesOf('dist/**/*.*')) > Math.max(...changesOf(made))

/** The worker of the scenes in which everything goes wrong, as `worker.js` in a folder that stays: its compiled code does, too. */
export const builtWorker = (): Promise<string> =>
  keptFor('chaos', (folder) => bundle(join(cwd, 'test/agent/workers/children/worker.ts'), folder), [
    'test/agent/workers/children/*.ts',
    'test/support/workers/chaos/*.ts',
  ])

/** Copies files of what was built. */
const copyBuilt = (folder: string, ends: readonly string[]): void => {
  const isWanted = (path: string): boolean =>
    statSync(path).isDirectory() || ends.some((end) => path.endsWith(end))
  cpSync(join(cwd, 'dist'), folder, {
    recursive: true,
    filter: (path) => !/\/dist\/ui/.test(path) && isWanted(path),
  })
}

const publish = async (folder: string): Promise<void> => {
  if (isBuilt()) copyBuilt(join(folder, 'dist'), ['.js', '.txt'])
  else await buildInto(join(folder, 'dist'))
  for (const path of ['bin', 'package.json']) cpSync(join(cwd, path), join(folder, path), { recursive: true })
  for (const name of ['examples', 'verifier']) symlinkSync(join(cwd, name), join(folder, name))
}

let built: Promise<string> | undefined
/** The folder of the package as it is published, without declarations: `bin`, `dist`, `examples`, `verifier` and `package.json`. */
export const builtPackage = (): Promise<string> => (built ??= keptFor('built', publish))

const declare = async (folder: string): Promise<void> => {
  if (isBuilt()) return copyBuilt(folder, ['.d.ts'])
  const said = await tsc(['-p', 'tsconfig.build.json', '--outDir', folder])
  if (said !== '') throw new Error(said)
}

let declared: Promise<string> | undefined
/** The folder of the package's declarations as they are published. */
export const builtDeclarations = (): Promise<string> => (declared ??= keptFor('declared', declare))

const buildPage = async (folder: string): Promise<void> => {
  if (isBuilt()) {
    for (const name of ['ui', 'ui-file'])
      cpSync(join(cwd, 'dist', name), join(folder, name), { recursive: true })
    return
  }
  const vite = join(cwd, 'node_modules/.bin/vite')
  const into = (settings: string, name: string) =>
    promisify(execFile)(vite, ['build', '--config', settings, '--outDir', join(folder, name)], { cwd })
  await Promise.all([into('vite.ui.config.ts', 'ui'), into('vite.file.config.ts', 'ui-file')])
}

let page: Promise<string> | undefined
/** A folder with the page as the package has it in `dist`: `ui` is what the server serves, `ui-file` what exported files have. */
export const builtPage = (): Promise<string> => (page ??= keptFor('page', buildPage))
