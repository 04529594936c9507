import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../e2e/snippets/snippets.ts'

export const compiler = join(root, 'node_modules/.bin/tsc')

/** Threads would check a lot twice, and collecting garbage would take a quarter of the time. */
export const frugal = { args: ['--singleThreaded'], env: { ...process.env, GOGC: '400' } }

/** What the compiler says; nothing if all is well. */
export const tsc = async (args: readonly string[]): Promise<string> => {
  const ran = promisify(execFile)(compiler, [...args, ...frugal.args], { cwd: root, env: frugal.env })
  return ran.then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  )
}

/** A folder with programs of this one, and the package's declarations as they are published. */
export const workshop = async (...programs: readonly string[]): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-types-'))
  const modules = join(folder, 'node_modules')
  const own = join(modules, 'palimpsest')
  await mkdir(own, { recursive: true })
  for (const name of ['@anthropic-ai', '@modelcontextprotocol', '@types', 'fp-ts', 'undici-types', 'zod'])
    await symlink(join(root, 'node_modules', name), join(modules, name))
  await copyFile(join(root, 'package.json'), join(own, 'package.json'))
  for (const program of programs) await copyFile(join(root, 'test/types', program), join(folder, program))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const said = await tsc(['-p', 'tsconfig.build.json', '--outDir', join(own, 'dist')])
  if (said !== '') throw new Error(said)
  return folder
}
