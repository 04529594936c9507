import { toError } from '../result/typed-error.ts'
import { breath } from '../store/breath.ts'
import { fileUnreadable } from '../transfer/formats/errors.ts'
import type { SessionFile } from '../transfer/formats/parse-session.ts'
import { type OpencodeDatabase, openOpencodeDatabase } from '../store/sqlite/opencode-database.ts'

/**
 * Yields the sessions in a database of opencode, oldest first, as files to import. The database is only read, also while the program has
 * it open. Throws `FileUnreadable` for any other file.
 *
 * @param path path of the database: `opencode.db` in `~/.local/share/opencode`
 * @param id id of the only session wanted. Default: all sessions
 */
export async function* opencodeSessions(path: string, id?: string): AsyncGenerator<SessionFile, void> {
  const database = openAt(path)
  try {
    const ids =
      id === undefined
        ? database
            .sessions()
            .map((session) => session.id)
            .toReversed()
        : [id]
    for (const one of ids) {
      const text = database.exported(one)
      if (text === undefined)
        throw toError(fileUnreadable(path, new Error(`there is no session ${one} in it`)))
      yield { file: `${path}#${one}`, text, format: 'opencode' }
      await breath()
    }
  } finally {
    database.close()
  }
}

/** Opens a database of opencode. Throws `FileUnreadable`. */
export const openAt = (path: string): OpencodeDatabase => {
  try {
    return openOpencodeDatabase(path)
  } catch (cause) {
    throw toError(fileUnreadable(path, cause))
  }
}
