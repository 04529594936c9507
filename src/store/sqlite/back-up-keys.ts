import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { type FileExists, fileExists, type StoreError } from '../errors.ts'
import { applicationId } from '../seal/key-file.ts'
import { copyInto, flushToDisk, unfinished } from './backup.ts'
import { storeError } from './errors.ts'

/** A backup of the keys of a store. */
export interface BackedUpKeys {
  readonly file: string
  readonly bytes: number
  /** Number of conversations and large contents whose keys are in it, and the store itself. */
  readonly keys: number
}

/**
 * Writes one state of a file of keys to a new file, for its owner only, while others may use the keys. The copy is checked and on disk
 * before it gets its name.
 */
export const backUpKeys = async (
  keys: string,
  file: string,
): Promise<E.Either<StoreError | InvalidInput | FileExists, BackedUpKeys>> => {
  if (isFolderOfKeys(keys)) return E.left(invalidInput('keys', folderOfKeys(keys)))
  if (!existsSync(keys)) return E.left(invalidInput('keys', `must be a file of keys: ${keys} does not exist`))
  const target = resolve(file)
  const temporary = `${target}.${randomUUID()}${unfinished}`
  try {
    if (existsSync(target)) return E.left(fileExists(file, 'already exists: name another file'))
    closeSync(openSync(temporary, 'wx', 0o600))
    await copyInto(keys, temporary)
    const checked = checkKeys(keys, temporary)
    if (E.isLeft(checked)) return checked
    flushToDisk(temporary, 'r+')
    // A file that another process creates under this name in the meantime is not overwritten.
    closeSync(openSync(target, 'wx', 0o600))
    renameSync(temporary, target)
    if (process.platform !== 'win32') flushToDisk(dirname(target), 'r')
    return E.right({ file, bytes: statSync(target).size, ...checked.right })
  } catch (error) {
    return E.left(storeError(`sqlite:${file}`, error))
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(temporary + suffix, { force: true })
  }
}

/** Checks the copy of a file of keys, and returns the number of keys in it. Errors name the file. */
export const checkKeys = (file: string, copy: string): E.Either<InvalidInput, Pick<BackedUpKeys, 'keys'>> => {
  const db = new DatabaseSync(copy)
  try {
    const { application_id: own } = db.prepare('PRAGMA application_id').get() ?? {}
    if (own !== applicationId) return E.left(invalidInput('keys', `${file} is not a file of keys`))
    const { integrity_check: problem } = db.prepare('PRAGMA integrity_check(1)').get() ?? {}
    if (problem !== 'ok') return E.left(invalidInput('keys', `${file} is damaged: ${String(problem)}`))
    const { count } = db.prepare('SELECT count(*) AS count FROM keys').get() ?? {}
    db.exec('PRAGMA journal_mode = DELETE')
    return E.right({ keys: Number(count) })
  } finally {
    db.close()
  }
}

/** Reports whether keys are kept in a folder. */
export const isFolderOfKeys = (keys: string): boolean =>
  keys.endsWith('/') || statSync(keys, { throwIfNoEntry: false })?.isDirectory() === true

/** Says that keys in a folder are copied by hand. */
export const folderOfKeys = (keys: string): string =>
  `must be a file of keys: ${keys} is a folder, which you can copy as it is (cp -a) while nothing writes to the store`
