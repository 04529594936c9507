import { bytesIn } from '../../evidence/broken.ts'
import { files } from '../../evidence/manifest.ts'
import { parseNote } from '../../ledger/notes.ts'

/** The checkpoint in the folder of a bundle, if it is one. */
export const checkpointIn = async (folder: string): Promise<ReturnType<typeof parseNote>> =>
  parseNote(await bytesIn(folder, files.checkpoint).then(String, () => ''))
