import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { makeFolder } from '../../../store/make-folder.ts'
import type { Anchor, AnchorRequest } from '../anchors.ts'
import { anchorFailed } from '../errors.ts'
import { isCheckpoint, nextNote, notesIn, ofOrigin, originName } from './anchor-notes.ts'

/**
 * Returns an anchor that appends checkpoints to a file, or writes each to its own file in a folder. The path names a folder if one
 * exists there or if it ends with `/`. Suitable places are another machine, an append-only disk, or a bucket with object lock.
 */
export const fileAnchor = (path: string): Anchor => {
  const tried = <A>(what: string, work: () => Promise<A>) =>
    TE.tryCatch(work, (error) => anchorFailed(path, `cannot be ${what} (${problemOf(error)})`, error))

  return {
    name: path,
    held: (origin) =>
      tried('read', async () =>
        ofOrigin((await isFolder(path)) ? await inFolder(path, origin) : notesIn(await textOf(path)), origin),
      ),
    put: (anchoring) =>
      tried('written', async () => {
        if (await isFolder(path)) await putInFolder(path, anchoring)
        else await putInFile(path, anchoring)
        return anchoring.checkpoint
      }),
  }
}

const problemOf = (error: unknown): string => {
  if (isMissing(error)) return 'its folder does not exist: create or mount it'
  return error instanceof Error ? error.message : String(error)
}

const isMissing = (error: unknown): boolean => Reflect.get(Object(error), 'code') === 'ENOENT'

const isFolder = async (path: string): Promise<boolean> => {
  if (path.endsWith('/')) return true
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(absent(''))

const absent =
  <A>(otherwise: A) =>
  (error: unknown): A => {
    if (isMissing(error)) return otherwise
    throw error
  }

const inFolder = async (folder: string, origin: string): Promise<readonly string[]> => {
  const none: string[] = []
  const names = await readdir(folder).catch(absent(none))
  const own = names.filter((name) => name.startsWith(`${originName(origin)}-`)).toSorted()
  return Promise.all(own.map((name) => readFile(join(folder, name), 'utf8')))
}

const putInFile = async (file: string, { origin, checkpoint }: AnchorRequest): Promise<void> => {
  const text = await textOf(file)
  const notes = notesIn(text)
  if (ofOrigin(notes, origin).at(-1) === checkpoint) return
  if (text !== '' && !notes.some(isCheckpoint))
    throw new Error('it contains something other than checkpoints: specify another file')
  await written(file, 'a', nextNote(text, checkpoint))
}

const digits = 15

const putInFolder = async (folder: string, { origin, size, checkpoint }: AnchorRequest): Promise<void> => {
  await makeFolder(folder)
  const file = join(folder, `${originName(origin)}-${String(size).padStart(digits, '0')}.txt`)
  if ((await textOf(file)) !== checkpoint) await written(file, 'wx', checkpoint)
}

/** Writes a text and syncs it to disk. */
const written = async (file: string, flags: string, text: string): Promise<void> => {
  const handle = await open(file, flags)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
