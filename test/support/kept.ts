import { existsSync, globSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Longer than the longest run of tests, in milliseconds. */
const patience = 2 * 3_600_000

/**
 * A folder of the project's cache that is made once for each name: by the worker that is first, or by several, of whom one wins. Those of
 * other names go once nobody has asked for them for two hours: tests that began before a change still use them.
 */
export const kept = async (
  what: string,
  name: string,
  make: (folder: string) => Promise<void>,
): Promise<string> => {
  const cache = join(root, 'node_modules/.cache', what)
  const folder = join(cache, name)
  const now = Date.now()
  if (existsSync(folder)) {
    utimesSync(folder, now / 1_000, now / 1_000)
    return folder
  }
  for (const other of globSync('*', { cwd: cache }).filter((entry) => !entry.startsWith(name))) {
    const path = join(cache, other)
    const used = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - used > patience) rmSync(path, { recursive: true, force: true })
  }
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
