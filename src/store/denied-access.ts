import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Returns the first file or folder on the way to a path that this process may not use. */
export const findDenied = (path: string): string | undefined => {
  const { R_OK, W_OK, X_OK } = constants
  const parent = dirname(path)
  const above = parent === path ? undefined : findDenied(parent)
  if (above !== undefined) return above
  const found = statIfAllowed(path)
  const needed = found?.isDirectory() ? X_OK : R_OK | W_OK
  return !found || isAllowed(path, needed) ? undefined : path
}

/** Says to whom a file or folder belongs that this process may not use. */
export const ownerText = (path: string): string =>
  `${path} belongs to ${ownerAndMode(path)}, and this process, user ${process.getuid?.()}, may not use it`

/** Returns the owner and the mode of a file or folder, such as `user 0 with mode 600`. */
export const ownerAndMode = (path: string): string => {
  const { uid, mode } = statSync(path)
  return `user ${uid} with mode ${(mode & 0o777).toString(8)}`
}

/**
 * Names the file of a store, or the first folder on the way to it, that this process may not use, with its owner and what to do;
 * undefined if there is none.
 */
export const deniedFile = (path: string): string | undefined => {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const folder = dirname(path)
  const isThere = statIfAllowed(folder) !== undefined
  const found = findDenied(path) ?? (isThere && !isAllowed(folder, constants.W_OK) ? folder : undefined)
  if (found === undefined) return undefined
  const { uid } = statSync(found)
  const isFile = found === path
  if (uid === own) return `${ownerText(found)}; allow it: chmod ${isFile ? 'u+rw' : 'u+rwx'} ${found}`
  // A folder may be one of the system, such as /root.
  const other = isFile ? `as root give it to this user: chown ${own} ${found}` : 'name a folder of this user'
  return `${ownerText(found)}; run the command as user ${uid}, or ${other}`
}

/** Returns the stats of a file; undefined if it does not exist, or if this process may not look. */
const statIfAllowed = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Reports whether this process has rights to a file. On a read-only disk, the rights are not what is missing. */
const isAllowed = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode)
    return true
  } catch (error) {
    return Reflect.get(Object(error), 'code') !== 'EACCES'
  }
}
