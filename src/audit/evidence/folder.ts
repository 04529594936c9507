import { appendFile, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { caught, type Steps } from '../../result/steps.ts'
import { toError } from '../../result/typed.ts'
import { type FileExists, fileExists } from '../../store/errors.ts'
import { makeFolder } from '../../store/make-folder.ts'

const unwritable = (error: unknown): InvalidInput =>
  invalidInput('folder', `cannot be written (${error instanceof Error ? error.message : String(error)})`)

/** Work on the disk. Throws `InvalidInput` where the system refuses it. */
export const onDisk = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    throw toError(unwritable(error))
  }
}

/** Makes a folder, or takes an empty one that is there. @returns the folders that were made, the outermost first */
export async function* emptyFolder(folder: string): Steps<InvalidInput | FileExists, readonly string[]> {
  const { made, names } = yield* caught<InvalidInput, Record<'made' | 'names', readonly string[]>>(() =>
    onDisk(async () => ({ made: await makeFolder(folder), names: await readdir(folder) })),
  )
  return names.length === 0
    ? made
    : yield fileExists(folder, 'is not empty: name a folder that is new or empty')
}

/** What some work may leave on the disk. */
export interface CreatedPaths {
  /** Folders that were made for it, the outermost first. */
  readonly made: readonly string[]
  readonly files: readonly string[]
}

/** Does some work; if it fails, the files go again, and after them the folders, unless something else is in them. */
export const orNothing = async <A>({ made, files }: CreatedPaths, work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    const gone = [
      ...files.map((file) => () => rm(file, { force: true })),
      ...made.toReversed().map((folder) => () => rmdir(folder)),
    ]
    // Why the work failed matters more than why the disk keeps it.
    for (const remove of gone) await remove().catch(() => undefined)
    throw error
  }
}

/** Ends when all of it has, and then throws what failed first: nothing is written after that. */
export const ended = async (work: readonly Promise<void>[]): Promise<void> => {
  for (const each of await Promise.allSettled(work)) if (each.status === 'rejected') throw each.reason
}

/** Called once nothing is left to refuse, before anything of the conversation is written: to record the export. What it throws ends it. */
export type OnReady = () => Promise<void>

/** A file that is written from its beginning to its end. Its methods throw `InvalidInput` if the disk refuses. */
export interface FileWriter {
  readonly write: (text: string) => Promise<void>
  /** The file is on disk then. */
  readonly close: () => Promise<void>
  readonly bytes: () => number
}

const atOnce = 1024 * 1024

/** Begins a file that is not there. @param onReady called once it is; the file goes again if that throws */
export const writing = async (folder: string, name: string, onReady?: OnReady): Promise<FileWriter> => {
  const path = join(folder, name)
  await writeFile(path, '', { flag: 'wx' }).catch((error: unknown) => {
    const isThere = Reflect.get(Object(error), 'code') === 'EEXIST'
    throw toError(isThere ? fileExists(path, 'exists: name a new file') : unwritable(error))
  })
  try {
    await onReady?.()
  } catch (error) {
    await rm(path)
    throw error
  }
  let waiting: string[] = []
  let length = 0
  let bytes = 0
  // Nothing stays open between two of these: whoever writes may stop anywhere.
  const flush = async (isLast: boolean): Promise<void> => {
    const text = Buffer.from(waiting.join(''))
    bytes += text.length
    waiting = []
    length = 0
    await onDisk(() => appendFile(path, text, { flush: isLast }))
  }
  return {
    write: async (text) => {
      waiting.push(text)
      length += text.length
      if (length >= atOnce) await flush(false)
    },
    close: () => flush(true),
    bytes: () => bytes,
  }
}

/** What a file is called until all of it is there. */
export const draftOf = (name: string): string => `${name}.part`

/** Writes a whole file; it appears under its name when all of it is there. */
export const writeWhole = (folder: string, name: string, text: string): Promise<void> =>
  onDisk(async () => {
    const beside = join(folder, draftOf(name))
    await writeFile(beside, text, { flag: 'wx', flush: true })
    await rename(beside, join(folder, name))
  })
