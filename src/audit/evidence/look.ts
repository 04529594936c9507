import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { inFile, isFile, kindOf, requireThat, UncheckedBundleError } from './bundle-errors.ts'
import { checkedFiles, files } from './manifest.ts'

/** Number of leading bytes that are searched for a line ending. */
const beginning = 65_536

/**
 * Detects user mistakes before verification, so that they are not reported as forgeries. Throws `UncheckedBundleError` if the folder is
 * not a bundle in its original form.
 */
export const look = async (folder: string): Promise<void> => {
  const kind = await kindOf(folder)
  requireThat(kind !== undefined, 'there is no such folder', UncheckedBundleError)
  requireThat(
    kind === 'folder',
    'this is a file: unpack it, and specify the folder inside it',
    UncheckedBundleError,
  )
  if (!(await isFile(join(folder, files.manifest)))) {
    const hint = (await isFile(join(folder, files.events)))
      ? 'the bundle is incomplete, get another copy'
      : (await holdsBundles(folder))
        ? 'name one of the folders in it'
        : 'this is not a bundle'
    throw new UncheckedBundleError(`there is no ${files.manifest}: ${hint}`)
  }
  for (const name of checkedFiles)
    requireThat(
      !(await inFile(name, () => hasOtherLineEnds(join(folder, name)))),
      `${name} has lines that end in CR LF: get an unmodified copy`,
      UncheckedBundleError,
    )
}

const holdsBundles = async (folder: string): Promise<boolean> => {
  for (const name of await readdir(folder)) if (await isFile(join(folder, name, files.manifest))) return true
  return false
}

/** Reports whether the file's first line ends in CR LF, which shows that a program converted the bundle. */
const hasOtherLineEnds = async (path: string): Promise<boolean> => {
  if (!(await isFile(path))) return false
  const file = await open(path)
  try {
    const length = Math.min((await file.stat()).size + 1, beginning)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
    const end = buffer.subarray(0, bytesRead).indexOf('\n')
    return end > 0 && buffer[end - 1] === 13
  } finally {
    await file.close()
  }
}
