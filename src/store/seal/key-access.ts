import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { KeyStore } from './key-store.ts'

/** Returns a key store that says who owns the keys at a path if this process may not use them. */
export const withAccessErrors = (keys: KeyStore, path: string): KeyStore => {
  const explained = async <A>(work: () => Promise<A>): Promise<A> => {
    try {
      return await work()
    } catch (error) {
      throw denied(path, error) ?? error
    }
  }
  const { scrub } = keys
  return {
    ...keys,
    read: (id) => explained(() => keys.read(id)),
    write: (id, text, before) => explained(() => keys.write(id, text, before)),
    ...(scrub && { scrub: () => explained(scrub) }),
  }
}

/** Returns an error that names the file or folder that this process may not use; undefined if it may use everything on the way. */
const denied = (path: string, cause: unknown): Error | undefined => {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const found = deniedOn(resolve(String(Reflect.get(Object(cause), 'path') ?? path)))
  if (found === undefined) return undefined
  const { uid, mode } = statSync(found)
  const rights = (mode & 0o777).toString(8)
  const isAbove = !found.startsWith(resolve(path))
  const advice = isAbove
    ? `keep the keys in a folder that this user may enter`
    : uid === own
      ? `give it the rights: chmod -R u+rwX ${path}`
      : `give the keys to it: chown -R ${own} ${path}`
  return new Error(
    `${found} belongs to user ${uid} with mode ${rights}, and this process, user ${own}, may not use it; ${advice}`,
    { cause },
  )
}

/** Returns the first file or folder on the way to a path that this process may not use. */
const deniedOn = (path: string): string | undefined => {
  const { R_OK, W_OK, X_OK } = constants
  const parent = dirname(path)
  const above = parent === path ? undefined : deniedOn(parent)
  if (above !== undefined) return above
  const found = statSync(path, { throwIfNoEntry: false })
  const needed = found?.isDirectory() ? X_OK : R_OK | W_OK
  return !found || isAllowed(path, needed) ? undefined : path
}

const isAllowed = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
