import { hash, randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../make-folder.ts'
import type { KeyStore } from './key-store.ts'

/** Time in milliseconds after which a write that another process began counts as abandoned. */
const abandoned = 10_000
const pause = 5

/**
 * Keeps each text in a file of its own in a folder, which the first write creates, for its owner only. Any number of processes of one
 * machine may use it. The methods reject with an `Error` of the system.
 */
export const keyFolder = (path: string): KeyStore => {
  // The process may change its directory.
  const folder = resolve(path)
  const fileOf = (id: string): string => join(folder, `${hash('sha256', id)}.json`)

  const read = async (id: string): Promise<string | undefined> => {
    try {
      const text = await readFile(fileOf(id), 'utf8')
      // A writer that has just replaced the file overwrites the former one.
      return text.includes('\0') ? await readFile(fileOf(id), 'utf8') : text
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined
      throw error
    }
  }

  /** Takes the place of the next version of a file, which one writer can have at a time. Returns false if another one has it. */
  const take = async (written: string, next: string): Promise<boolean> => {
    try {
      await link(written, next)
      return true
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
    }
    const { mtimeMs } = await stat(next).catch(() => ({ mtimeMs: Infinity }))
    if (Date.now() - mtimeMs > abandoned) await rm(next, { force: true })
    else await sleep(pause)
    return false
  }

  return {
    name: path,
    read,
    write: async (id, text, before) => {
      await makeFolder(folder, 0o700)
      const file = fileOf(id)
      const written = `${file}.${randomUUID()}`
      const next = `${file}.next`
      try {
        await writeDurably(written, text, 'wx')
        if (!(await take(written, next))) return false
        if ((await read(id)) !== before) {
          await rm(next, { force: true })
          return false
        }
        const former = before === undefined ? undefined : await open(file, 'r+')
        try {
          await rename(next, file)
          await syncFolder(folder)
          // The name is gone, but the bytes would stay on the disk.
          if (former && before !== undefined) {
            await former.write(Buffer.alloc(Buffer.byteLength(before)), 0, undefined, 0)
            await former.sync()
          }
        } finally {
          await former?.close()
        }
        return true
      } finally {
        await rm(written, { force: true })
      }
    },
    close: async () => undefined,
  }
}

const writeDurably = async (path: string, text: string, flags: string): Promise<void> => {
  const file = await open(path, flags, 0o600)
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

const isCode = (error: unknown, code: string): boolean => Reflect.get(Object(error), 'code') === code
