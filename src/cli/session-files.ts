import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ownFormats } from '../formats/registry.ts'

/** A file to import. */
export interface SessionPath {
  readonly file: string
  /** Whether it was found in a folder, and may be no session. */
  readonly isFound: boolean
}

export const isFolder = (file: string): boolean =>
  file !== '-' && statSync(file, { throwIfNoEntry: false })?.isDirectory() === true

/**
 * The files named, and in place of a folder all JSON files in it and in its folders, by name: sessions are followed by their subagents.
 * If formats are registered, whose files may have any name, it is all files. Hidden ones are left out, and no link is followed.
 */
export const sessionPaths = (files: readonly string[]): readonly SessionPath[] =>
  files.flatMap((file): readonly SessionPath[] =>
    isFolder(file)
      ? filesIn(file).map((found) => ({ file: found, isFound: true }))
      : [{ file, isFound: false }],
  )

const filesIn = (folder: string): readonly string[] => {
  const isSession = ownFormats().size > 0 ? () => true : (name: string) => /\.jsonl?$/.test(name)
  const open = [folder]
  const found: string[] = []
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const entry of readdirSync(next, { withFileTypes: true })) {
      const path = join(next, entry.name)
      if (entry.name.startsWith('.')) continue
      if (entry.isDirectory()) open.push(path)
      else if (entry.isFile() && isSession(entry.name)) found.push(path)
    }
  return found.toSorted()
}
