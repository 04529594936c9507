import { realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Returns the file of a SQLite database that a target is or would be, also through links; undefined otherwise. */
export const databaseFileAt = (path: string, target: string): string | undefined =>
  databaseFiles(path).find((name) => isOneFile(target, name))

/** Returns the paths of a database's files. If the path is a link, SQLite names the files after the link's target. */
const databaseFiles = (path: string): readonly string[] =>
  ['', '-wal', '-shm', '-journal'].map((suffix) => realpathSync(path) + suffix)

/** Reports whether two paths are, or would be, the same file. */
const isOneFile = (a: string, b: string): boolean => {
  const [there, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }))
  if (there && other) return there.ino === other.ino && there.dev === other.dev
  return basename(a) === basename(b) && realpathSync(dirname(a)) === dirname(b)
}
