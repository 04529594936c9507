import { closeSync, type Dirent, openSync, readdirSync, readSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { type FileUnreadable, fileUnreadable, noFiles, oneFileWanted } from '../transfer/formats/errors.ts'
import { ownFormats } from '../transfer/formats/registry.ts'

/** A file or folder to import from. */
export interface SessionPath {
  readonly file: string
  /** True for a file found in a folder; such a file may not be a session. */
  readonly isFound: boolean
}

/** Reports whether the path is a folder. Returns false for a path that cannot be examined, because reading it will report the error. */
export const isFolder = (file: string): boolean => file !== '-' && kindOf(file)?.isDirectory() === true

/** Returns the stats of a path, or undefined if they cannot be read. */
export const kindOf = (file: string): Stats | undefined => {
  try {
    return statSync(file)
  } catch {
    return undefined
  }
}

/**
 * Lists the files to import: the given files, with each folder replaced by all JSON files in it and its subfolders, sorted by name, so
 * that sessions are followed by their subagents. If custom formats are registered, every file is listed, as files of those formats may
 * have any name. Hidden files are skipped, and symbolic links are not followed. A folder without such files, or one that cannot be
 * read, stays in the list.
 */
export const sessionPaths = (files: readonly string[]): readonly SessionPath[] =>
  files.flatMap((file): readonly SessionPath[] => {
    const found = isFolder(file) ? filesIn(file) : []
    return found.length > 0 ? found : [{ file, isFound: false }]
  })

/** A database of opencode that a path names: the database, or one session in it, as `DATABASE#SESSION`. */
export interface NamedDatabase {
  readonly path: string
  readonly session?: string
}

/** Returns the database that a path names; undefined if the file is not a database. */
export const databaseNamed = (file: string): NamedDatabase | undefined => {
  if (isDatabase(file)) return { path: file }
  const at = file.lastIndexOf('#')
  return at > 0 && isDatabase(file.slice(0, at))
    ? { path: file.slice(0, at), session: file.slice(at + 1) }
    : undefined
}

const databaseHead = 'SQLite format 3\0'

const isDatabase = (file: string): boolean => {
  if (file === '-' || kindOf(file)?.isFile() !== true) return false
  const bytes = Buffer.alloc(databaseHead.length)
  try {
    const open = openSync(file, 'r')
    try {
      return readSync(open, bytes, 0, bytes.length, 0) === bytes.length && bytes.toString() === databaseHead
    } finally {
      closeSync(open)
    }
  } catch {
    return false
  }
}

/** Replaces each database of opencode by the sessions in it. */
export const withSessionsInDatabases = async (
  paths: readonly SessionPath[],
): Promise<readonly SessionPath[]> => {
  const all: SessionPath[] = []
  for (const each of paths) {
    const database = databaseNamed(each.file)
    const sessions = database && database.session === undefined ? await sessionsIn(each.file) : undefined
    all.push(...(sessions ?? [each]))
  }
  return all
}

const sessionsIn = async (file: string): Promise<readonly SessionPath[] | undefined> => {
  const { openAt } = await import('../api/opencode-sessions.ts')
  try {
    const database = openAt(file)
    const ids = database.sessions().map(({ id }) => id)
    database.close()
    return ids.toReversed().map((id) => ({ file: `${file}#${id}`, isFound: true }))
  } catch {
    // Of another program, which the import names.
    return undefined
  }
}

/** Returns the reason why a folder cannot be read as a session, or undefined for a file. */
export const folderProblem = (path: string): FileUnreadable | undefined => {
  if (!isFolder(path)) return undefined
  const entries = entriesOf(path)
  if (entries instanceof Error) return fileUnreadable(path, entries)
  return filesIn(path).length > 0 ? oneFileWanted(path) : noFiles(path)
}

const entriesOf = (folder: string): readonly Dirent[] | Error => {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return error as Error
  }
}

/**
 * Lists the files in a folder and its subfolders that may be sessions, sorted by name. A folder that cannot be read is listed itself, with
 * `isFound` false.
 */
export const filesIn = (folder: string): readonly SessionPath[] => {
  const isSession = ownFormats().size > 0 ? () => true : (name: string) => /\.jsonl?$/.test(name)
  const open = [folder]
  const found: SessionPath[] = []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const entries = entriesOf(next)
    if (entries instanceof Error) found.push({ file: next, isFound: false })
    else
      for (const entry of entries.filter(({ name }) => !name.startsWith('.'))) {
        const path = join(next, entry.name)
        if (entry.isDirectory()) open.push(path)
        else if (entry.isFile() && isSession(entry.name)) found.push({ file: path, isFound: true })
      }
  }
  return found.toSorted((a, b) => (a.file < b.file ? -1 : 1))
}
