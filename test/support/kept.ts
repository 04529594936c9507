import { existsSync, globSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * A folder of the project's cache that is made once for each name: by the worker that is first, or by several, of whom one wins. Those of
 * other names go.
 */
export const kept = async (
  what: string,
  name: string,
  make: (folder: string) => Promise<void>,
): Promise<string> => {
  const cache = join(root, 'node_modules/.cache', what)
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
