import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder and its parents if they do not exist. Rejects with the system's error. Does not use `mkdir` with `recursive`, which
 * never returns if a parent exists but refuses the name with ENOENT (for example in /proc).
 *
 * @returns the folders created, outermost first
 */
export const makeFolder = async (path: string, mode?: number): Promise<readonly string[]> => {
  try {
    return await made(path, mode)
  } catch (error) {
    const parent = dirname(resolve(path))
    if (Reflect.get(Object(error), 'code') !== 'ENOENT' || parent === resolve(path)) throw error
    return [...(await makeFolder(parent, mode)), ...(await made(path, mode))]
  }
}

const made = async (path: string, mode: number | undefined): Promise<readonly string[]> => {
  try {
    await mkdir(path, { ...(mode !== undefined && { mode }) })
    return [path]
  } catch (error) {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isDirectory()) throw error
    return []
  }
}
