import { appendFile, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { catchTyped, type Steps } from '../../result/steps.ts'
import { toError } from '../../result/typed-error.ts'
import { type FileExists, fileExists } from '../../store/errors.ts'
import { makeFolder } from '../../store/make-folder.ts'

const unwritable = (error: unknown): InvalidInput =>
  invalidInput('folder', `cannot be written (${error instanceof Error ? error.message : String(error)})`)

/** Runs work on the disk. Throws `InvalidInput` if the system refuses it. */
export const onDisk = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    throw toError(unwritable(error))
  }
}

/** Creates a folder, or accepts an existing empty one. @returns the folders that were created, the outermost first */
export async function* emptyFolder(folder: string): Steps<InvalidInput | FileExists, readonly string[]> {
  const { made, names } = yield* catchTyped<InvalidInput, Record<'made' | 'names', readonly string[]>>(() =>
    onDisk(async () => ({ made: await makeFolder(folder), names: await readdir(folder) })),
  )
  return names.length === 0
    ? made
    : yield fileExists(folder, 'is not empty: name a folder that is new or empty')
}

/** Paths that some work may leave on the disk. */
export interface CreatedPaths {
  /** Folders that were created for it, the outermost first. */
  readonly made: readonly string[]
  readonly files: readonly string[]
}

/** Runs some work; if it fails, removes the files, then the folders unless something else is in them. */
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

/** Waits until all work has ended, then throws the first failure: nothing is written after that. */
export const waitForAll = async (work: readonly Promise<void>[]): Promise<void> => {
  for (const each of await Promise.allSettled(work)) if (each.status === 'rejected') throw each.reason
}

/**
 * Called once an export can no longer be refused, before any of the conversation is written, for example to record the export. An
 * exception from it ends the export.
 */
export type OnReady = () => Promise<void>

/** A file that is written from beginning to end. Its methods throw `InvalidInput` if the disk refuses. */
export interface FileWriter {
  readonly write: (text: string) => Promise<void>
  /** Closes the file, which is on disk when the promise resolves. */
  readonly close: () => Promise<void>
  readonly bytes: () => number
}

const atOnce = 1024 * 1024

/** Begins a new file. @param onReady called once the file exists; if it throws, the file is removed */
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
  // Nothing stays open between two of these: the writer may stop anywhere.
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

/** Returns the name that a file has until it is complete. */
export const draftOf = (name: string): string => `${name}.part`

/** Writes a whole file, which appears under its name once it is complete. */
export const writeWhole = (folder: string, name: string, text: string): Promise<void> =>
  onDisk(async () => {
    const beside = join(folder, draftOf(name))
    await writeFile(beside, text, { flag: 'wx', flush: true })
    await rename(beside, join(folder, name))
  })
