import * as TE from 'fp-ts/lib/TaskEither.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { FileExists, StoreError } from '../store/errors.ts'
import { unknownOption } from '../store/options.ts'
import type { BackedUp, BackupOptions, EventStore } from '../store/port.ts'

export type BackupError = StoreError | InvalidInput | FileExists

/**
 * Backs up a store to a file. If the store cannot be backed up to a file, fails with `InvalidInput`, whose message names an
 * alternative.
 */
export const backupOf = (
  { url, backup }: EventStore,
  file: unknown,
  options: BackupOptions,
): TE.TaskEither<BackupError, BackedUp> => {
  if (!backup) return TE.left(invalidInput('store', insteadFor(url)))
  if (typeof file !== 'string' || file === '' || file.includes('\0') || file.startsWith('sqlite:'))
    return TE.left(invalidInput('file', 'must be the path of a file, such as backups/monday.db'))
  if (typeof options !== 'object' || options === null)
    return TE.left(invalidInput('options', 'must be an object, like { force: true }'))
  const unknown = unknownOption(options, ['force'])
  return unknown ? TE.left(unknown) : backup(file, options)
}

const insteadFor = (url: string): string =>
  url === 'memory:'
    ? 'memory: is not a file: export its conversations, or keep them in a sqlite: store'
    : `${url} is not a file: back the database up with its own tools${url.startsWith('postgres:') ? ', such as pg_dump' : ''}, or copy the conversations into a file (palimpsest copy --from URL --to sqlite:FILE)`
