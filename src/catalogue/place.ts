import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'

/**
 * Returns the path of a store's catalogue, without the file number: next to the store's SQLite file, or in the given folder. Returns
 * undefined if the catalogue is in memory.
 *
 * @param url URL of the store, without parameters
 */
export const placeOf = (url: string, folder: string | undefined): string | undefined => {
  const isFile = url.startsWith('sqlite:')
  const path = isFile ? resolve(url.slice('sqlite:'.length)) : url
  if (folder === undefined) return isFile ? `${path}-index` : undefined
  return join(resolve(folder), `${createHash('sha256').update(path).digest('hex').slice(0, 16)}-index`)
}
