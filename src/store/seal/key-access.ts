import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findDenied, ownerText } from '../denied-access.ts'
import type { KeyStore } from './key-store.ts'

/** Returns a key store that says who owns the keys at a path if this process may not use them. */
export const withAccessErrors = (keys: KeyStore, path: string): KeyStore => {
  const explained = async <A>(work: () => Promise<A>): Promise<A> => {
    try {
      return await work()
    } catch (error) {
      throw denied(path, error) ?? noFolder(path, error) ?? error
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

/** Returns an error that names the folder of the keys if it does not exist; undefined if it does. */
const noFolder = (path: string, cause: unknown): Error | undefined => {
  const folder = dirname(path)
  return Reflect.get(Object(cause), 'code') === 'ENOENT' && !existsSync(folder)
    ? new Error(`there is no folder ${folder}: create it, or check the path`, { cause })
    : undefined
}

/** Returns an error that names the file or folder that this process may not use; undefined if it may use everything on the way. */
const denied = (path: string, cause: unknown): Error | undefined => {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const found = findDenied(resolve(String(Reflect.get(Object(cause), 'path') ?? path)))
  if (found === undefined) return undefined
  const { uid } = statSync(found)
  const isAbove = !found.startsWith(resolve(path))
  const advice = isAbove
    ? `keep the keys in a folder that this user may enter`
    : uid === own
      ? `give it the rights: chmod -R u+rwX ${path}`
      : `give the keys to it: chown -R ${own} ${path}`
  return new Error(`${ownerText(found)}; ${advice}`, { cause })
}
