import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { type FileUnreadable, fileUnreadable, noFiles } from '../transfer/formats/errors.ts'
import { ownFormats } from '../transfer/formats/registry.ts'

/** A file to import. */
export interface SessionPath {
  readonly file: string
  /** Found in a folder: it may be no session. */
  readonly isFound: boolean
}

/** Tells a folder. For a path that cannot be looked at, the answer is no: whoever reads it says why. */
export const isFolder = (file: string): boolean => file !== '-' && kindOf(file)?.isDirectory() === true

/** Looks at a path; undefined if that fails. */
export const kindOf = (file: string): Stats | undefined => {
  try {
    return statSync(file)
  } catch {
    return undefined
  }
}

/**
 * The files named, and in place of a folder all JSON files in it and in its folders, by name: sessions are followed by their subagents.
 * If formats are registered, whose files may have any name, it is all files. Hidden ones are left out, and no link is followed. A folder
 * without any stays in the list, and so does one that cannot be read.
 */
export const sessionPaths = (files: readonly string[]): readonly SessionPath[] =>
  files.flatMap((file): readonly SessionPath[] => {
    const found = isFolder(file) ? filesIn(file) : []
    return found.length > 0 ? found : [{ file, isFound: false }]
  })

/** Says why nothing is imported from a path that stands for a folder; undefined for a file. */
export const folderProblem = (path: string): FileUnreadable | undefined => {
  if (!isFolder(path)) return undefined
  const entries = entriesOf(path)
  return entries instanceof Error ? fileUnreadable(path, entries) : noFiles(path)
}

const entriesOf = (folder: string): readonly Dirent[] | Error => {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return error as Error
  }
}

const filesIn = (folder: string): readonly SessionPath[] => {
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
