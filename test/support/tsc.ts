import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

export const compiler = join(cwd, 'node_modules/.bin/tsc')

/** Threads would check a lot twice, and collecting garbage would take a quarter of the time. */
const frugal = { args: ['--singleThreaded'], env: { ...process.env, GOGC: '400' } }

/** What the compiler says; nothing if all is well. */
export const tsc = async (args: readonly string[]): Promise<string> => {
  const ran = promisify(execFile)(compiler, [...args, ...frugal.args], { cwd, env: frugal.env })
  return ran.then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  )
}
