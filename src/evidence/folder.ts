import { open, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { caught, type Steps } from '../result/steps.ts'
import { toError } from '../result/typed.ts'
import { type FileExists, fileExists } from '../store/errors.ts'
import { makeFolder } from '../store/make-folder.ts'

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

/** Makes a folder, or takes an empty one that is there. */
export async function* emptyFolder(folder: string): Steps<InvalidInput | FileExists, void> {
  const names = yield* caught<InvalidInput, readonly string[]>(() =>
    onDisk(async () => {
      await makeFolder(folder)
      return readdir(folder)
    }),
  )
  if (names.length > 0) yield fileExists(folder, 'is not empty: name a folder that is new or empty')
}

/** A file that is written from its beginning to its end. Its methods throw `InvalidInput` if the disk refuses. */
export interface Writing {
  readonly write: (text: string) => Promise<void>
  /** The file is on disk then. */
  readonly close: () => Promise<void>
  readonly bytes: () => number
}

const atOnce = 1024 * 1024

export const writing = async (folder: string, name: string): Promise<Writing> => {
  const file = await onDisk(() => open(join(folder, name), 'wx'))
  let waiting: string[] = []
  let length = 0
  let bytes = 0
  const flush = async (): Promise<void> => {
    const text = Buffer.from(waiting.join(''))
    bytes += text.length
    waiting = []
    length = 0
    await onDisk(() => file.appendFile(text))
  }
  return {
    write: async (text) => {
      waiting.push(text)
      length += text.length
      if (length >= atOnce) await flush()
    },
    close: async () => {
      await flush()
      await onDisk(() => file.sync())
      await file.close()
    },
    bytes: () => bytes,
  }
}

/** Writes a whole file; it appears under its name when all of it is there. */
export const writeWhole = (folder: string, name: string, text: string): Promise<void> =>
  onDisk(async () => {
    const beside = join(folder, `${name}.part`)
    await writeFile(beside, text, { flag: 'wx', flush: true })
    await rename(beside, join(folder, name))
  })
