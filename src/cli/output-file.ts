import { randomUUID } from 'node:crypto'
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { placeOf } from '../catalogue/place.ts'
import { invalidInput } from '../events/errors.ts'
import { isTyped, toError } from '../result/typed-error.ts'
import { databaseFileAt } from '../store/sqlite-files.ts'
import { indexFolder } from './host.ts'
import type { CommandSession } from './shell.ts'

/** The pieces of a file: texts in UTF-8, or bytes. */
export type FilePieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>

/** Writes the pieces of a file, and returns its size in bytes. */
export type WriteFile = (pieces: FilePieces) => Promise<number>

/**
 * Returns a function that writes the file named by an option, overwriting an existing one. A regular file is first written beside its
 * place and then renamed, so that it is never half-written. Throws `InvalidInput` if the file belongs to the store, or is a database,
 * a key or a token file.
 *
 * @param mode permissions of a new file. Default: those of the process
 */
export const writerOf = async (
  session: CommandSession,
  option: string,
  name: string,
  mode?: number,
): Promise<WriteFile> => {
  const refused = (why: string) => toError(invalidInput(option, `${name} ${why}`))
  const orUnwritable = (error: unknown): never => {
    throw isTyped(error) ? error : refused(`cannot be written (${messageOf(error)})`)
  }
  const target = await realPathOf(name).catch(orUnwritable)
  const there = await stat(target).catch(() => undefined)
  const obstacle = ownedBy(session, target) ?? (there?.isFile() ? await precious(target) : undefined)
  if (obstacle !== undefined) throw refused(`${obstacle}: name another file`)
  // A device or a pipe is written to, not replaced.
  const isReplaced = !there || there.isFile()
  const place = isReplaced ? `${target}.${randomUUID()}.tmp` : target
  return async (pieces) => {
    let file: FileHandle | undefined
    let bytes = 0
    try {
      // The file is created only once the first piece could be made.
      for await (const piece of pieces) {
        file ??= await open(place, isReplaced ? 'wx' : 'w', there?.mode ?? mode).catch(orUnwritable)
        await file.writeFile(piece).catch(orUnwritable)
        bytes += Buffer.byteLength(piece)
      }
      await file?.close()
      if (file && isReplaced) await rename(place, target).catch(orUnwritable)
      return bytes
    } catch (error) {
      await file?.close().catch(() => undefined)
      if (file && isReplaced) await rm(place, { force: true })
      throw error
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Follows links, also to a file that does not exist. */
const realPathOf = (name: string): Promise<string> =>
  realpath(name).catch(async () => join(await realpath(dirname(resolve(name))), basename(name)))

const ownedBy = ({ store: { url }, host }: CommandSession, target: string): string | undefined => {
  const own = url.startsWith('sqlite:') ? databaseFileAt(url.slice('sqlite:'.length), target) : undefined
  if (own !== undefined)
    return /-(?:wal|shm|journal)$/.test(own)
      ? 'belongs to the store, which must not be overwritten'
      : 'is the store itself, which must not be overwritten'
  const index = placeOf(url, indexFolder(host, url))
  return index !== undefined && target.startsWith(`${index}.`)
    ? 'belongs to the index of the store'
    : undefined
}

/** Returns why a file must not be overwritten, by its first characters. */
const precious = async (path: string): Promise<string | undefined> => {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0)
    const start = buffer.toString('latin1', 0, bytesRead)
    return firstWords.find(([words]) => words.test(start))?.[1]
  } finally {
    await file.close()
  }
}

const firstWords: readonly (readonly [RegExp, string])[] = [
  [/^SQLite format 3\0/, 'is a database'],
  [/^-----BEGIN /, 'is a key'],
  [/^\{\s*"tokens"/, 'has the tokens of a server'],
]
