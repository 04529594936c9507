import { hash, randomUUID } from 'node:crypto'
import { link, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { makeFolder } from '../make-folder.ts'
import type { KeyStore } from './key-store.ts'

// The texts of an id are the files `0.json`, `1.json` … of a folder of its own; the one with the highest number counts. A writer links
// its file under the next number, which only one writer can, and empties the former ones. They stay for a while, so that a writer that
// was stopped in between, for however long, does not take a number of the past.

/** Number of emptied files that stay. */
const mostEmptied = 16
/** Time in milliseconds after which a file that a writer has not linked counts as abandoned. */
const abandoned = 10_000

/**
 * Keeps each text in a file of its own in a folder, which the first write creates, for its owner only. Any number of processes of one
 * machine may use it. The methods reject with an `Error` of the system.
 */
export const keyFolder = (path: string): KeyStore => {
  // The process may change its directory.
  const folder = resolve(path)
  const folderOf = (id: string): string => join(folder, hash('sha256', id))

  return {
    name: path,
    read: async (id) => (await newest(folderOf(id)))?.text,
    write: async (id, text, before) => {
      const own = folderOf(id)
      for (const made of await makeFolder(own, 0o700)) await syncFolder(dirname(made))
      const found = await newest(own)
      if (found?.text !== before) return false
      const number = (found?.number ?? -1) + 1
      const [written, next] = [join(own, randomUUID()), fileOf(own, number)]
      try {
        await writeDurably(written, text)
        if (!(await isLinked(written, next))) return false
        // Since then, others have written more often than emptied files stay: the number was free again.
        if (((await numbersIn(own))[0] ?? 0) - number > mostEmptied) {
          await discard(next)
          return false
        }
        await syncFolder(own)
        await emptyFormer(own)
        return true
      } finally {
        await discard(written)
      }
    },
    scrub: async () => {
      for (const name of (await namesIn(folder)).filter((one) => /^[0-9a-f]{64}$/.test(one))) {
        const own = join(folder, name)
        await emptyFormer(own)
        for (const left of (await namesIn(own)).filter((one) => !isText(one)))
          if (Date.now() - (await timeOf(join(own, left))) > abandoned) await discard(join(own, left))
      }
    },
    close: async () => undefined,
  }
}

const fileOf = (own: string, number: number): string => join(own, `${number}.json`)
const isText = (name: string): boolean => /^\d+\.json$/.test(name)

/** Returns the numbers of the texts in a folder, the highest first. */
const numbersIn = async (own: string): Promise<readonly number[]> =>
  (await namesIn(own))
    .filter(isText)
    .map((name) => Number.parseInt(name, 10))
    .toSorted((one, other) => other - one)

const newest = async (
  own: string,
): Promise<{ readonly number: number; readonly text: string } | undefined> => {
  for (;;) {
    const [number] = await numbersIn(own)
    if (number === undefined) return undefined
    const text = await ifThere(readFile(fileOf(own, number), 'utf8'))
    // A writer that has just replaced it empties it.
    if ((await numbersIn(own))[0] === number) return { number, text: text ?? '' }
  }
}

/** Overwrites the texts that were replaced: without their names, the bytes would stay on the disk. */
const emptyFormer = async (own: string): Promise<void> => {
  const [last = 0, ...former] = await numbersIn(own)
  for (const number of former) {
    const file = await ifThere(open(fileOf(own, number), 'r+'))
    try {
      const { size = 0 } = (await file?.stat()) ?? {}
      if (size > 0) {
        await file?.write(Buffer.alloc(size), 0, undefined, 0)
        await file?.sync()
        await file?.truncate()
      }
    } finally {
      await file?.close()
    }
    if (last - number > mostEmptied) await rm(fileOf(own, number), { force: true })
  }
}

/** Removes a file, and overwrites it unless it has another name. */
const discard = async (path: string): Promise<void> => {
  const file = await ifThere(open(path, 'r+'))
  try {
    await rm(path, { force: true })
    const { nlink = 1, size = 0 } = (await file?.stat()) ?? {}
    if (nlink > 0) return
    await file?.write(Buffer.alloc(size), 0, undefined, 0)
    await file?.sync()
  } finally {
    await file?.close()
  }
}

/** Gives a file a second name. Returns false if another file has that name, or the first name is gone. */
const isLinked = async (written: string, next: string): Promise<boolean> => {
  try {
    await link(written, next)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST') || isCode(error, 'ENOENT')) return false
    throw error
  }
}

const writeDurably = async (path: string, text: string): Promise<void> => {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

const syncFolder = async (folder: string): Promise<void> => {
  const opened = await open(folder, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

const namesIn = async (folder: string): Promise<readonly string[]> => (await ifThere(readdir(folder))) ?? []
const timeOf = async (path: string): Promise<number> => (await ifThere(stat(path)))?.mtimeMs ?? Infinity

/** Returns undefined if there is no such file. */
const ifThere = async <A>(work: Promise<A>): Promise<A | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

const isCode = (error: unknown, code: string): boolean => Reflect.get(Object(error), 'code') === code
