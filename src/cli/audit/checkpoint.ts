import { bytesIn } from '../../audit/evidence/bundle-errors.ts'
import { files } from '../../audit/evidence/manifest.ts'
import { parseNote } from '../../audit/ledger/notes.ts'

/** Reads and parses the checkpoint in the folder of a bundle. */
export const checkpointIn = async (folder: string): Promise<ReturnType<typeof parseNote>> =>
  parseNote(await bytesIn(folder, files.checkpoint).then(String, () => ''))
