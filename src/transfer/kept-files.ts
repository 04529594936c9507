import type { FileCopy } from './prepare-archive.ts'
import type { ImportMemories } from './prepare-events.ts'
import type { BytesReader } from './read-session.ts'
import type { FileShelf } from './shelf.ts'

/** A file that was imported, with everything that is needed to import what is added to it. */
export interface KeptFile {
  /** Number of its bytes, and the digest of them and of the options of the import. */
  readonly bytes: number
  readonly digest: string
  readonly reader: BytesReader
  readonly shelf: FileShelf
  /** The bytes, if they are archived. */
  readonly copy: FileCopy | undefined
  readonly memories: ImportMemories
}

/** The files that were imported last, by name and options of their import. */
export interface KeptFiles {
  /** Returns a file, which is then not kept any more. */
  readonly take: (name: string) => KeptFile | undefined
  readonly keep: (name: string, file: KeptFile) => void
  readonly close: () => void
}

/** Maximum size of a file that is kept, in bytes. About three times as much is in temporary files as long as it is kept. */
export const mostKept = 128 * 1024 * 1024
const mostFiles = 4
/** Time after which a file is not kept any more, in milliseconds. */
const longest = 10 * 60_000

/** Keeps the four files that were imported last, for ten minutes. */
export const createKeptFiles = (): KeptFiles => {
  const files = new Map<string, { readonly file: KeptFile; readonly timer: NodeJS.Timeout }>()
  const take = (name: string): KeptFile | undefined => {
    const kept = files.get(name)
    files.delete(name)
    clearTimeout(kept?.timer)
    return kept?.file
  }
  const drop = (name: string): void => {
    const file = take(name)
    if (file) closeFile(file)
  }
  return {
    take,
    keep: (name, file) => {
      drop(name)
      files.set(name, { file, timer: setTimeout(() => drop(name), longest).unref() })
      const [oldest = name] = files.keys()
      if (files.size > mostFiles) drop(oldest)
    },
    close: () => {
      for (const name of files.keys()) drop(name)
    },
  }
}

export const closeFile = ({ shelf, copy }: Pick<KeptFile, 'shelf' | 'copy'>): void => {
  shelf.close()
  copy?.close()
}
