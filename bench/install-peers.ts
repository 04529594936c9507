import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import wanted from './package.json' with { type: 'json' }
import { systemEnvironment } from './processes.ts'

const folder = new URL('.', import.meta.url)

/** Installs the programs that Palimpsest is measured beside, if they are absent; returns why that failed, undefined if it did not. */
export const installPeers = async (say: (text: string) => void): Promise<string | undefined> => {
  if (isInstalled()) return undefined
  say('Installing the peers into bench/node_modules, once. Native ones may be compiled: a few minutes …\n')
  // Where nothing can be compiled, the peers that need no compiler are there all the same.
  const failed = (await npm('ci')) && (await npm('ci', '--ignore-scripts'))
  return failed ? `${failed} (run \`npm ci\` in bench to see all of it)` : undefined
}

/** Whether npm has finished an install of the versions that are wanted: it writes down last what it has installed. */
const isInstalled = (): boolean => {
  const list = new URL('node_modules/.package-lock.json', folder)
  if (!existsSync(list)) return false
  const { packages } = JSON.parse(readFileSync(list, 'utf8')) as Installed
  return Object.entries(wanted.dependencies).every(
    ([name, version]) =>
      packages[`node_modules/${name}`]?.version === version &&
      existsSync(new URL(`node_modules/${name}/package.json`, folder)),
  )
}

interface Installed {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

/** Runs npm; returns the first line of its complaint, empty if it has none. */
const npm = async (...options: readonly string[]): Promise<string> => {
  try {
    await promisify(execFile)('npm', options, { cwd: folder, env: systemEnvironment(), maxBuffer: 2 ** 26 })
    return ''
  } catch (error) {
    const complaint = error instanceof Error ? error.message : String(error)
    return complaint.split('\n').find((line) => /npm error/.test(line)) ?? complaint
  }
}
