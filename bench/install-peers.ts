import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { promisify } from 'node:util'
import { systemEnvironment } from './processes.ts'

const folder = new URL('.', import.meta.url)

/** Installs the programs that Palimpsest is measured beside, if they are absent; returns why that failed, undefined if it did not. */
export const installPeers = async (say: (text: string) => void): Promise<string | undefined> => {
  if (isInstalled()) return undefined
  say('Installing the peers into bench/node_modules, once. Native ones may be compiled: a few minutes …\n')
  // Where nothing can be compiled, the peers that need no compiler are there all the same.
  const failed = (await npm('ci')) && (await npm('ci', '--ignore-scripts'))
  return failed || undefined
}

/** npm writes the lock file's copy last: one that is older than the lock file is of other peers, or of an install that was interrupted. */
const isInstalled = (): boolean => {
  const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((name) =>
    statSync(new URL(name, folder), { throwIfNoEntry: false }),
  )
  return wanted !== undefined && installed !== undefined && installed.mtimeMs >= wanted.mtimeMs
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
