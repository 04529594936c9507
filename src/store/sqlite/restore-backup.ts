import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { StoreError } from '../errors.ts'
import type { BackedUp } from '../port.ts'
import { applicationId as keysId } from '../seal/key-file.ts'
import { type BackedUpKeys, checkKeys, folderOfKeys, isFolderOfKeys } from './back-up-keys.ts'
import { applicationIdOf, checkCopy } from './backup.ts'
import { type ReplacedFile, replaceFile } from './replace-file.ts'
import { sqliteSettings } from './settings.ts'

/** A restored backup of a store. */
export interface RestoredBackup extends BackedUp, ReplacedFile {}

/** Replaces an SQLite store with a backup, as `replaceFile` does. */
export const restoreBackup = async (
  storeUrl: string,
  file: string,
): Promise<E.Either<StoreError | InvalidInput, RestoredBackup>> => {
  const settings = sqliteSettings(storeUrl)
  return E.isLeft(settings)
    ? settings
    : replaceFile(settings.right, file, (copy) => checkCopy(`sqlite:${file}`, copy))
}

/** A restored backup of keys. */
export interface RestoredKeys extends BackedUpKeys, ReplacedFile {}

/** Replaces a file of keys with a backup, as `replaceFile` does. */
export const restoreKeys = async (
  keys: string,
  file: string,
): Promise<E.Either<StoreError | InvalidInput, RestoredKeys>> =>
  isFolderOfKeys(keys)
    ? E.left(invalidInput('keys', folderOfKeys(keys)))
    : replaceFile({ url: `sqlite:${keys}`, path: resolve(keys) }, file, async (copy) => checkKeys(file, copy))

/** Reports whether a file has keys. */
export const isKeys = (file: string): boolean => {
  try {
    return statSync(file).isFile() && applicationIdOf(file) === keysId
  } catch {
    // Restoring it as a backup of a store says why it cannot be read.
    return false
  }
}
