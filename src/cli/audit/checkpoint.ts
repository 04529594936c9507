import { bytesIn } from '../../audit/evidence/broken.ts'
import { files } from '../../audit/evidence/manifest.ts'
import { parseNote } from '../../audit/ledger/notes.ts'

/** The checkpoint in the folder of a bundle, if it is one. */
export const checkpointIn = async (folder: string): Promise<ReturnType<typeof parseNote>> =>
  parseNote(await bytesIn(folder, files.checkpoint).then(String, () => ''))
