import { appendFile, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { catchTyped, type Fallible } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { type FileExists, fileExists } from '../../store/errors.ts'
import { makeFolder } from '../../store/make-folder.ts'

const unwritable = (error: unknown): InvalidInput =>
  invalidInput('folder', `cannot be written (${error instanceof Error ? error.message : String(error)})`)

/** Runs a disk operation. Throws `InvalidInput` if the operation fails. */
export const onDisk = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    throw toError(unwritable(error))
  }
}

/**
 * Creates a folder, or accepts an existing empty one.
 *
 * @returns the folders that were created, outermost first
 */
export async function* emptyFolder(folder: string): Fallible<InvalidInput | FileExists, readonly string[]> {
  const { made, names } = yield* catchTyped<InvalidInput, Record<'made' | 'names', readonly string[]>>(() =>
    onDisk(async () => ({ made: await makeFolder(folder), names: await readdir(folder) })),
  )
  return names.length === 0
    ? made
    : yield fileExists(
        folder,
        names.includes('events.txt') && !names.includes('bundle.json') ? unfinished : taken,
      )
}

const taken = 'is not empty: name a folder that is new or empty'
const unfinished =
  'has an incomplete bundle, left by an export that was interrupted (or is still running): remove it, or name another folder'

/** Paths to remove if an operation fails. */
export interface CreatedPaths {
  /** Folders that the operation created, outermost first. */
  readonly made: readonly string[]
  readonly files: readonly string[]
}

/** Runs an operation. If it fails, removes the files, then each folder that is empty. */
export const orNothing = async <A>({ made, files }: CreatedPaths, work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    const gone = [
      ...files.map((file) => () => rm(file, { force: true })),
      ...made.toReversed().map((folder) => () => rmdir(folder)),
    ]
    // The error of the operation matters more than a failure to remove its files.
    for (const remove of gone) await remove().catch(() => undefined)
    throw error
  }
}

/** Waits for all promises to settle, then throws the first failure. No write is running when it throws. */
export const waitForAll = async (work: readonly Promise<void>[]): Promise<void> => {
  for (const each of await Promise.allSettled(work)) if (each.status === 'rejected') throw each.reason
}

/**
 * Callback that runs after all checks have passed and before any of the conversation is written, for example to record the export. If
 * it throws, the export stops.
 */
export type OnReady = () => Promise<void>

/** Writer that appends text to a new file. Its methods throw `InvalidInput` if a write fails. */
export interface FileWriter {
  readonly write: (text: string) => Promise<void>
  /** Closes the file; its content is on disk when the promise resolves. */
  readonly close: () => Promise<void>
  readonly bytes: () => number
}

const atOnce = 1024 * 1024

/**
 * Creates a file and returns its writer.
 *
 * @param onReady called once the file exists; if it throws, the file is removed
 */
export const createFile = async (folder: string, name: string, onReady?: OnReady): Promise<FileWriter> => {
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
  // The file is not kept open between flushes, because the writer may be abandoned at any point.
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

/** Returns the temporary name of a file that is not yet complete. */
export const draftOf = (name: string): string => `${name}.part`

/** Writes a file under a temporary name, then renames it. */
export const writeWhole = (folder: string, name: string, text: string): Promise<void> =>
  onDisk(async () => {
    const beside = join(folder, draftOf(name))
    await writeFile(beside, text, { flag: 'wx', flush: true })
    await rename(beside, join(folder, name))
  })
